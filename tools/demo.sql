-- What `make demo` shows.
CREATE EXTENSION clocktiming;
\dx+ clocktiming
