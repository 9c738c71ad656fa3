-- Descriptions of columns that several views share.

COMMENT ON COLUMN {clock_plan_stats,clock_node_stats}.queryid IS
    'query identifier, that of pg_stat_statements; planid if the server computes none';
COMMENT ON COLUMN {clock_plan_stats,clock_node_stats,clock_node_snapshots}.planid IS
    'identifier of the plan: a hash of its tree';
COMMENT ON COLUMN {clock_plan_stats,clock_node_stats}.dbname IS
    'name of the database; null if it was dropped';
COMMENT ON COLUMN {clock_plan_stats,clock_node_stats}.username IS
    'name of the user who executed the plan';
COMMENT ON COLUMN {clock_plan_stats,clock_node_stats,clock_running,clock_node_snapshots}.dbid IS
    'OID of the database';
COMMENT ON COLUMN {clock_plan_stats,clock_node_stats,clock_node_snapshots}.userid IS
    'OID of the user who executed the plan';
COMMENT ON COLUMN {clock_node_stats,clock_running,clock_node_snapshots}.depth IS
    'depth of the node in the plan; 0 is the root';
COMMENT ON COLUMN {clock_node_stats,clock_node_snapshots}.node_type IS
    'type of the node, as EXPLAIN calls it';
COMMENT ON COLUMN {clock_node_stats,clock_running}.self_margin_ms IS
    'half of a 95 % confidence interval of the time of the node itself, in milliseconds';
COMMENT ON COLUMN {clock_node_stats,clock_running}.total_margin_ms IS
    'half of a 95 % confidence interval of the time of the node and its children, in milliseconds';
COMMENT ON COLUMN {clock_running,clock_node_snapshots}.relation IS
    'relation that the node scans or modifies; null if none';
COMMENT ON COLUMN {clock_running,clock_node_snapshots}.index_name IS
    'index that the node scans; null if none';
COMMENT ON COLUMN {clock_history,clock_fleet}.assumed_rate_ppm IS
    'excess of the TSC''s rate over the frequency that the server assumes, in parts per million; '
    'null if the server times by another clock';
COMMENT ON COLUMN {clock_history,clock_fleet}.stolen_percent IS
    'share of the time of all CPUs that the hypervisor gave to other machines, in percent';
COMMENT ON COLUMN {clock_history,clock_fleet}.off_cpu_percent IS
    'share of the time of observations in which other processes had the CPU, in percent';
COMMENT ON COLUMN {clock_history,clock_fleet}.synchronised IS
    'true if the kernel''s clock was synchronised with a time server during the whole period';
COMMENT ON COLUMN {clock_history,clock_fleet}.sync_error_us IS
    'largest error bound that the kernel states for its clock, in microseconds';
COMMENT ON COLUMN {clock_history,clock_fleet}.kernel_clock_source IS 'clock source of the kernel';
COMMENT ON COLUMN {clock_history,clock_fleet}.hypervisor IS 'name of the hypervisor, or none';
COMMENT ON COLUMN {clock_history,clock_fleet}.processor IS 'name of the processor';
COMMENT ON COLUMN {clock_history,clock_fleet}.cpus IS 'number of CPUs online';
