# Writes rank_reference.h: results of R's wilcox.test() for 200 pairs of data sets. rank_test.c
# generates the same data sets. Run: Rscript test/unit/rank_reference.R >test/unit/rank_reference.h
#
# p and the interval are those of wilcox.test(b, a, conf.int = TRUE) with its defaults. But the ends
# of the interval are computed to 1e-12 instead of 1e-4. If there are too few values for the
# confidence, the interval is NAN. R would return the range of all differences.
#
# The shift is the median of all differences. R's own estimate, without the exact distribution, is
# any point between the two differences in the middle. This script checks that.

draw <- function(seed, n, shape, offset) {
	s <- seed
	uniform <- function() {
		s <<- (s * 48271) %% 2147483647
		s / 2147483647
	}
	x <- vapply(seq_len(n), function(i) {
		u <- uniform()
		switch(shape + 1, 4 * u, floor(8 * u), 20 + 1 / u, (u - 0.5) * 1e9, floor(40 * u) / 8)
	}, 0)
	x + offset
}

spread <- c(4, 8, 4, 1e9, 4)
sizes <- list(small = 2:9, middle = 10:49, large = 50:300)

cat("/* By rank_reference.R, ", R.version.string, ". */\n", sep = "")
set.seed(17)
for (i in 0:199) {
	shape <- i %% 5
	# The choice depends only on i, not on R's random numbers.
	pick <- function(from, k) from[1 + (i * 7919 + k * 104729) %% length(from)]
	n <- pick(sizes[[1 + (i %/% 5) %% 3]], 1)
	m <- if (i %% 4 == 0) n else pick(sizes[[1 + (i %/% 15) %% 3]], 2)
	offset <- c(0, 0.0625, 0.125, 0.25, 0.5, -0.125, 2)[1 + i %% 7] * spread[shape + 1]
	if (shape == 1) offset <- floor(offset)
	level <- c(95, 99, 90, 80, 99.9)[1 + (i %/% 2) %% 5]
	seed <- 1000 + 2 * i
	a <- draw(seed, n, shape, 0)
	b <- draw(seed + 1, m, shape, offset)
	if (length(unique(c(a, b))) == 1) stop("all values are the same")

	test <- suppressWarnings(wilcox.test(b, a, conf.int = TRUE, conf.level = level / 100, tol.root = 1e-12))
	ends <- as.double(test$conf.int)
	differences <- sort(as.vector(outer(b, a, "-")))
	half <- (1 - level / 100) / 2
	if (grepl("exact", test$method)) {
		if (qwilcox(half, m, n) == 0) ends <- c(NaN, NaN)
	} else {
		# The interval is NAN if not even the largest possible statistic of the normal approximation
		# is significant. The largest statistic occurs if all values of b exceed those of a.
		pairs <- as.double(n) * m
		groups <- c(table(a), table(b))
		sigma <- sqrt(pairs / 12 * (n + m + 1 - sum(groups^3 - groups) / ((n + m) * (n + m - 1))))
		if ((pairs / 2 - 0.5) / sigma < qnorm(half, lower.tail = FALSE)) ends <- c(NaN, NaN)
		middle <- differences[floor(c(pairs + 1, pairs + 2) / 2)]
		near <- 1e-6 * max(abs(differences))
		if (test$estimate < middle[1] - near || test$estimate > middle[2] + near) stop("R's estimate of ", i)
	}
	number <- function(x) if (is.nan(x)) "NAN" else sprintf("%.15g", x)
	cat("{", paste(c(seed, shape, n, m, number(offset), level, vapply(c(median(differences), ends, test$p.value), number, "")),
		collapse = ", "), "},\n", sep = "")
}
