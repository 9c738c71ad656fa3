/*
 * stats_test: compares means, straight lines and Student's t with SciPy's results.
 *
 * The expected numbers in the tables are results of SciPy 1.17.1, printed by '%.17g'.  The comment
 * of a table is the Python expression.  Numbers of the t distribution were compared with those of
 * mpmath 1.4.1 with 60 digits.  mpmath computed p-values by betainc(regularized=True), or, for df
 * from 1e6 on, by quadrature of the density, and quantiles by Newton's method.  If SciPy's number
 * differs from mpmath's by more than 1e-12 of the value, as near p = 0.5, the table has the number
 * of mpmath, and the comment "mpmath".
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats.h"
#include "tap.h"

#define LENGTH(a)	((int) (sizeof(a) / sizeof((a)[0])))
#define PRECISION	1e-9

typedef struct Case
{
	double		x;
	double		df;
	double		expected;
} Case;

/* p, df, and scipy.stats.t.ppf(p, df) */
static const Case t_quantiles[] = {
	{1e-10, 1, -3183098861.8379064},
	{0.0025000000000000001, 1, -127.32133646887213},
	{0.050000000000000003, 1, -6.3137515146750438},
	{0.29999999999999999, 1, -0.7265425280053609},
	{0.49999999989999999, 1, -3.1415929135263347e-10},	/* mpmath */
	{0.49999999999900002, 1, -3.1415231561563748e-12},	/* mpmath */
	{0.50000000000099998, 1, 3.1415231561563748e-12},	/* mpmath */
	{0.50000000010000001, 1, 3.1415929135263347e-10},	/* mpmath */
	{0.59999999999999998, 1, 0.32491969623290634},
	{0.75, 1, 1.0000000000000002},
	{0.94999999999999996, 1, 6.3137515146750367},
	{0.97499999999999998, 1, 12.706204736174694},
	{0.995, 1, 63.656741162871526},
	{0.99999999989999999, 1, 3183098598.4671478},
	{1e-300, 2, -7.0710678118654748e+149},
	{1e-10, 2, -70710.67810804816},
	{0.0025000000000000001, 2, -14.089047275555295},
	{0.050000000000000003, 2, -2.9199855803537256},
	{0.29999999999999999, 2, -0.61721339984836776},
	{0.49999999989999999, 2, -2.8284273587712998e-10},
	{0.49999999999900002, 2, -2.8283645550729522e-12},
	{0.50000000000099998, 2, 2.8283645550729522e-12},
	{0.50000000010000001, 2, 2.8284273587712998e-10},
	{0.59999999999999998, 2, 0.28867513459481281},
	{0.75, 2, 0.81649658092772615},
	{0.94999999999999996, 2, 2.9199855803537242},
	{0.97499999999999998, 2, 4.3026527297494619},
	{0.995, 2, 9.9248432009182874},
	{0.99999999989999999, 2, 70710.675182734471},
	{1e-10, 3, -2225.7692846830928},
	{0.0025000000000000001, 3, -7.4533185051506239},
	{0.050000000000000003, 3, -2.3533634348018242},
	{0.29999999999999999, 3, -0.58438972743981876},
	{0.49999999989999999, 3, -2.7206992714629753e-10},	/* mpmath */
	{0.49999999999900002, 3, -2.7206388598084885e-12},	/* mpmath */
	{0.50000000000099998, 3, 2.7206388598084885e-12},	/* mpmath */
	{0.50000000010000001, 3, 2.7206992714629753e-10},	/* mpmath */
	{0.59999999999999998, 3, 0.27667066233268978},
	{0.75, 3, 0.7648923284043444},
	{0.94999999999999996, 3, 2.3533634348018233},
	{0.97499999999999998, 3, 3.1824463052837078},
	{0.995, 3, 5.8409093097333553},
	{0.99999999989999999, 3, 2225.7692232960744},
	{1e-10, 4.5, -241.11742919193401},
	{0.0025000000000000001, 4.5, -5.1172185680030147},
	{0.050000000000000003, 4.5, -2.0655758888785249},
	{0.29999999999999999, 4.5, -0.56350580393937788},
	{0.49999999989999999, 4.5, -2.648678329583141e-10},	/* mpmath */
	{0.49999999999900002, 4.5, -2.6486195171146805e-12},	/* mpmath */
	{0.50000000000099998, 4.5, 2.6486195171146805e-12},	/* mpmath */
	{0.50000000010000001, 4.5, 2.648678329583141e-10},	/* mpmath */
	{0.59999999999999998, 4.5, 0.26875183554217508},
	{0.75, 4.5, 0.73286668623599438},
	{0.94999999999999996, 4.5, 2.0655758888785241},
	{0.97499999999999998, 4.5, 2.6589123472044034},
	{0.995, 4.5, 4.2728239930112926},
	{0.99999999989999999, 4.5, 241.11742475827822},
	{1e-300, 29, -108873461155.49188},
	{1e-10, 29, -9.5179655049378304},
	{0.0025000000000000001, 29, -3.0380467448491748},
	{0.050000000000000003, 29, -1.6991270265334977},
	{0.29999999999999999, 29, -0.53021439570916096},
	{0.49999999989999999, 29, -2.5283264448383717e-10},
	{0.49999999999900002, 29, -2.5282703047183601e-12},
	{0.50000000000099998, 29, 2.5282703047183601e-12},
	{0.50000000010000001, 29, 2.5283264448383717e-10},
	{0.59999999999999998, 29, 0.25568363457125604},
	{0.75, 29, 0.68304386082161306},
	{0.94999999999999996, 29, 1.6991270265334972},
	{0.97499999999999998, 29, 2.045229642132703},
	{0.995, 29, 2.7563859036706049},
	{0.99999999989999999, 29, 9.5179654694487787},
	{1e-10, 1000, -6.4278762831342133},
	{0.0025000000000000001, 1000, -2.8132778604855457},
	{0.050000000000000003, 1000, -1.6463788172854648},
	{0.29999999999999999, 1000, -0.52456770730922697},
	{0.49999999989999999, 1000, -2.5072552173850609e-10},
	{0.49999999999900002, 1000, -2.5071995451402483e-12},
	{0.50000000000099998, 1000, 2.5071995451402483e-12},
	{0.50000000010000001, 1000, 2.5072552173850609e-10},
	{0.59999999999999998, 1000, 0.25341451583949876},
	{0.75, 1000, 0.67473516460700933},
	{0.94999999999999996, 1000, 1.6463788172854643},
	{0.97499999999999998, 1000, 1.9623390808264083},
	{0.995, 1000, 2.580754698065951},
	{0.99999999989999999, 1000, 6.4278762700330283},
	{1e-10, 1000000, -6.3614068488767428},
	{0.0025000000000000001, 1000000, -2.8070399995776372},
	{0.050000000000000003, 1000000, -1.6448551507220406},
	{0.29999999999999999, 1000000, -0.52440067986020922},
	{0.49999999989999999, 1000000, -2.5066291086875526e-10},
	{0.49999999999900002, 1000000, -2.506573450345145e-12},
	{0.50000000000099998, 1000000, 2.506573450345145e-12},
	{0.50000000010000001, 1000000, 2.5066291086875526e-10},
	{0.59999999999999998, 1000000, 0.25334717053784184},
	{0.75, 1000000, 0.67448999553108746},
	{0.94999999999999996, 1000000, 1.6448551507220404},
	{0.97499999999999998, 1000000, 1.959966356814107},
	{0.995, 1000000, 2.5758342201053344},
	{0.99999999989999999, 1000000, 6.3614068361697198},
	{1e-10, 0.10000000000000001, -1.6044257056665468e+96},
	{0.050000000000000003, 0.10000000000000001, -1642931922.6025643},
	{0.50000000000099998, 0.10000000000000001, 6.752404201063521e-12},
	{0.59999999999999998, 0.10000000000000001, 1.5129761706778602},
	{0.97499999999999998, 0.10000000000000001, 1682362288745.0078},
	{1e-10, 0.5, -1.02849115631634e+19},
	{0.050000000000000003, 0.5, -41.136000092878263},
	{0.50000000000099998, 0.5, 3.7080673239605531e-12},
	{0.59999999999999998, 0.5, 0.3979754267847907},
	{0.97499999999999998, 0.5, 164.55767348048818},
	{1e-10, 1000000000, -6.3613409683499444},
	{0.50000000010000001, 1000000000, 2.5066284826570109e-10},	/* mpmath */
	{0.97499999999999998, 1000000000, 1.9599639869123251},
	{1e-10, 1000000000000, -6.3613409024700021},
	{0.50000000010000001, 1000000000000, 2.5066284820303539e-10},
	{0.97499999999999998, 1000000000000, 1.9599639845424262},
};

/* p, infinite df, and scipy.stats.norm.ppf(p) */
static const Case normal_quantiles[] = {
	{1e-300, INFINITY, -37.047096299361201},
	{1e-10, INFINITY, -6.3613409024040557},
	{0.025000000000000001, INFINITY, -1.9599639845400545},
	{0.49999999999900002, INFINITY, -2.5065728237018607e-12},
	{0.50000000010000001, INFINITY, 2.5066284820303539e-10},
	{0.75, INFINITY, 0.67448975019608171},
	{0.97499999999999998, INFINITY, 1.959963984540054},
	{0.99999999989999999, INFINITY, 6.3613408896974217},
};

/* t, df, and scipy.stats.t.cdf(t, df) */
static const Case t_cdfs[] = {
	{-30, 0.29999999999999999, 0.12597936955160791},
	{-6, 0.29999999999999999, 0.20403133932432374},
	{-1.8, 0.29999999999999999, 0.29078806277995328},
	{-1.0000000000000001e-05, 0.29999999999999999, 0.49999770680747163},
	{0.29999999999999999, 0.29999999999999999, 0.56488423196045268},
	{1.7, 0.29999999999999999, 0.70444346579254669},
	{2.5, 0.29999999999999999, 0.73555728039082757},
	{-30, 1, 0.010606402405535426},
	{-6, 1, 0.052568456711253438},
	{-1.8, 1, 0.16141446721709526},
	{-1.0000000000000001e-05, 1, 0.49999681690100645},
	{0.29999999999999999, 1, 0.59277357907774231},
	{1.7, 1, 0.83074697266966724},
	{2.5, 1, 0.87888105840915665},
	{-30, 2, 0.00055463134097982953},
	{-6, 2, 0.013335736607712385},
	{-1.8, 2, 0.10683317450253291},
	{-1.0000000000000001e-05, 2, 0.49999646446609414},
	{0.29999999999999999, 2, 0.60375716957991121},
	{1.7, 2, 0.88438328689921442},
	{2.5, 2, 0.9351941398892446},
	{-30, 5, 3.8593243102480265e-07},
	{-6, 5, 0.00092306914479700717},
	{-1.8, 5, 0.065878791635446132},
	{-1.0000000000000001e-05, 5, 0.49999620393310185},
	{0.29999999999999999, 5, 0.61187547886836269},
	{1.7, 5, 0.92506160657583802},
	{2.5, 5, 0.97275495032881187},
	{-30, 7.25, 3.5821312680180587e-09},
	{-6, 7.25, 0.00023705664785829812},
	{-1.8, 7.25, 0.056708073737462582},
	{-1.0000000000000001e-05, 7.25, 0.49999614538637643},
	{0.29999999999999999, 7.25, 0.61370158311802636},
	{1.7, 7.25, 0.93427529071652171},
	{2.5, 7.25, 0.98006723962054276},
	{-30, 30, 3.125895815304445e-24},
	{-6, 30, 6.971384383602382e-07},
	{-1.8, 30, 0.040962534304370142},
	{-1.0000000000000001e-05, 30, 0.49999604367815115},
	{0.29999999999999999, 30, 0.61687694735782361},
	{1.7, 30, 0.95026106220574158},
	{2.5, 30, 0.99094217546596663},
	{-30, 10000, 1.0221635237126803e-189},
	{-6, 10000, 1.0208092364613106e-09},
	{-1.8, 10000, 0.035945382941464432},
	{-1.0000000000000001e-05, 10000, 0.49999601067693039},
	{0.29999999999999999, 10000, 0.61790830438533384},
	{1.7, 10000, 0.95541898863614749},
	{2.5, 10000, 0.99378239022470816},
	{-6, 1000000, 9.8692490617721509e-10},
	{-1.8, 1000000, 0.035930469749841709},
	{-1.0000000000000001e-05, 1000000, 0.49999601057819337},
	{0.29999999999999999, 1000000, 0.61791139101050296},
	{1.7, 1000000, 0.95543438175482553},
	{2.5, 1000000, 0.9937902552489184},
};

/* t, df, and 2 * scipy.stats.t.sf(abs(t), df) */
static const Case t_p_values[] = {
	{0.01, 0.29999999999999999, 0.99541394612727085},
	{1.5, 0.29999999999999999, 0.61232766682877837},
	{-2.1000000000000001, 0.29999999999999999, 0.55638176781637427},
	{9, 0.29999999999999999, 0.36146741240703689},
	{30, 0.29999999999999999, 0.25195873910321581},
	{1000000, 0.29999999999999999, 0.011078426345025877},
	{0.01, 1, 0.99363401447018596},
	{1.5, 1, 0.37433408362199772},
	{-2.1000000000000001, 1, 0.28292605624301798},
	{9, 1, 0.070446574954554558},
	{30, 1, 0.021212804811070851},
	{1000000, 1, 6.3661977236736911e-07},
	{0.01, 2, 0.99292910895820097},
	{1.5, 2, 0.27239312489100109},
	{-2.1000000000000001, 2, 0.17054986918996751},
	{9, 2, 0.01212166009278687},
	{30, 2, 0.0011092626819596591},
	{1000000, 2, 9.9999999999850011e-13},
	{0.01, 4, 0.99250015624589849},
	{1.5, 4, 0.20799999999999999},
	{-2.1000000000000001, 4, 0.10365328631760218},
	{9, 4, 0.0008438325176012779},
	{30, 4, 7.3528560976613191e-06},
	{1000000, 4, 5.99999999996e-24},
	{0.01, 12.5, 0.99217912130691599},
	{1.5, 12.5, 0.15844258698964986},
	{-2.1000000000000001, 12.5, 0.056643307203214123},
	{9, 12.5, 8.1201798234886918e-07},
	{30, 12.5, 5.0306085416676064e-13},
	{1000000, 12.5, 1.5867040919458815e-69},
	{0.01, 58, 0.99205560494811684},
	{1.5, 58, 0.13903853960760806},
	{-2.1000000000000001, 58, 0.040088684737508991},
	{9, 58, 1.3260497917425652e-12},
	{30, 58, 5.1435442688739688e-37},
	{1000000, 58, 1.4380235919093331e-298},
	{0.01, 1000, 0.99202328193218725},
	{1.5, 1000, 0.13393003882208626},
	{-2.1000000000000001, 1000, 0.035978874310781971},
	{9, 1000, 1.1129077171871453e-18},
	{30, 1000, 1.5374687444043095e-141},
	{0.01, 1000000, 0.99202128936554756},
	{1.5, 1000000, 0.1336147182367928},
	{-2.1000000000000001, 1000000, 0.035729090974635058},
	{9, 1000000, 2.2609730334928616e-19},
	{1.5, 1000000000, 0.13361440285341525},
	{9, 1000000000, 2.2571806051471215e-19},
	{1.5, 1000000000000, 0.13361440253803189},
	{9, 1000000000000, 2.2571768157009147e-19},
};

typedef struct HalfWidth
{
	double		stddev;
	int			n;
	double		confidence;
	double		expected;
} HalfWidth;

/* scipy.stats.t.isf((1 - confidence) / 2, n - 1) * stddev / sqrt(n) */
static const HalfWidth half_widths[] = {
	{2.5, 2, 0.94999999999999996, 22.461608830234383},
	{1, 3, 0.5, 0.47140452079103179},
	{0.125, 10, 0.98999999999999999, 0.12846102915497482},
	{700000000, 1000, 0.94999999999999996, 43438279.949151382},
	{1, 5, 0.99999999989999999, 221.33487335474393},
	{1, 5, 1e-10, 5.962847939999439e-11},	/* mpmath */
};

static const double two[] = {3.5, 1.25};
static const double three[] = {10, 7, 100};
static const double five[] = {26.5, 24, 1000000, 25.25, 25.5};
static const double nine[] = {8, 1.5, 3, 3, -4, 22, 3.25, 9, 2};
static const double ten[] = {4, 4, 7, 7, 7, 7, 8, 8, 1, 90};
static const double constant[] =
	{0.10000000000000001, 0.10000000000000001, 0.10000000000000001, 0.10000000000000001,
		0.10000000000000001, 0.10000000000000001, 0.10000000000000001};
static double hundred[100];	/* filled by main() */

typedef struct Moments
{
	const double *x;
	int			n;
	double		mean;
	double		stddev;
	double		min;
	double		max;
	double		median;
} Moments;

/* Mean and variance by fractions.Fraction, square root by mpmath; min, max, and numpy.median */
static const Moments moments[] = {
	{two, LENGTH(two), 2.375, 1.5909902576697319, 1.25, 3.5, 2.375},
	{three, LENGTH(three), 39, 52.848841046895245, 7, 100, 10},
	{five, LENGTH(five), 200020.25, 447202.27540670842, 24, 1000000, 25.5},
	{nine, LENGTH(nine), 5.3055555555555554, 7.3013031561343746, -4, 22, 3},
	{ten, LENGTH(ten), 14.300000000000001, 26.691863096373687, 1, 90, 7},
	{constant, LENGTH(constant), 0.10000000000000001, 0, 0.10000000000000001, 0.10000000000000001,
		0.10000000000000001},
	{hundred, LENGTH(hundred), 1364.21875, 2522.9296457874361, -700.25, 25000, 1063.875},
};

static bool
near(double value, double expected)
{
	if (isnan(expected))
		return isnan(value);
	if (expected == 0 || isinf(expected))
		return value == expected;
	return fabs(value - expected) <= PRECISION * fabs(expected);
}

static double *
copied(const double *x, int n)
{
	double	   *copy = malloc(sizeof(double) * n);

	memcpy(copy, x, sizeof(double) * n);
	return copy;
}

/* Returns a quantile, computed from critical values. */
static double
t_quantile(double p, double df)
{
	if (p == 0.5)
		return 0;
	/* p - 0.5 is exact near 0.5, and 1 - p is exact near 1. */
	return p < 0.5 ? -stats_t_critical(2 * (0.5 - p), 2 * p, df) :
		stats_t_critical(2 * (p - 0.5), 2 * (1 - p), df);
}

static double
normal_quantile(double p)
{
	return t_quantile(p, INFINITY);
}

static double
t_cdf(double t, double df)
{
	return t < 0 ? stats_t_p_value(t, df) / 2 : 1 - stats_t_p_value(t, df) / 2;
}

static double
half_width(double stddev, int n, double confidence)
{
	return stats_t_critical(confidence, 1 - confidence, n - 1) * stddev / sqrt(n);
}

static void
distributions(void)
{
	double		value;

	for (int i = 0; i < LENGTH(t_quantiles); i++)
	{
		const Case *c = &t_quantiles[i];

		value = t_quantile(c->x, c->df);
		ok(near(value, c->expected), "t quantile at %.17g, df %g: %.17g", c->x, c->df, value);
	}
	for (int i = 0; i < LENGTH(normal_quantiles); i++)
	{
		const Case *c = &normal_quantiles[i];

		value = normal_quantile(c->x);
		ok(near(value, c->expected), "normal quantile at %.17g: %.17g", c->x, value);
	}
	for (int i = 0; i < LENGTH(t_cdfs); i++)
	{
		const Case *c = &t_cdfs[i];

		value = t_cdf(c->x, c->df);
		ok(near(value, c->expected), "CDF of t at %g, df %g: %.17g", c->x, c->df, value);
	}
	for (int i = 0; i < LENGTH(t_p_values); i++)
	{
		const Case *c = &t_p_values[i];

		value = stats_t_p_value(c->x, c->df);
		ok(near(value, c->expected) && value == stats_t_p_value(-c->x, c->df),
		   "p-value of t = %g and %g, df %g: %.17g", c->x, -c->x, c->df, value);
	}
}

/* Tests that the functions agree with each other, for any df. */
static void
consistency(void)
{
	bool		inverse = true;
	bool		symmetric = true;
	bool		rising = true;
	bool		cauchy = true;
	bool		df_2 = true;
	bool		normal = true;

	for (double df = 0.01; df < 1e20; df *= 1.37)
	{
		double		previous = 0;

		for (double p = 1e-12; p < 0.4999; p *= 1.1)
		{
			double		t = t_quantile(p, df);

			if (isinf(t))
				continue;			/* infinite for the smallest df */
			inverse &= near(t_cdf(t, df), p);
			inverse &= near(stats_t_p_value(t, df), 2 * p);
			rising &= previous == 0 || t > previous;
			previous = t;
		}
		for (double p = 0x1p-50; p < 0.5; p *= 2)
		{
			/* 1 - p is exact. */
			symmetric &= t_quantile(1 - p, df) == -t_quantile(p, df);
			symmetric &= near(t_quantile(0.5 + p / 2, df),
							  -t_quantile(0.5 - p / 2, df));
		}
		for (double t = 0.001; t < 100; t *= 1.3)
			symmetric &= fabs(t_cdf(t, df) + t_cdf(-t, df) - 1) < 1e-15;
	}
	ok(inverse, "CDF and p-value are the inverse of the quantile, for df from 0.01 to 1e20");
	ok(rising, "quantiles rise with p");
	ok(symmetric, "quantiles, CDF and p-values are symmetric");

	for (double t = 1e-9; t < 1e9; t *= 1.7)
	{
		cauchy &= near(stats_t_p_value(t, 1), 2 / acos(-1) * atan(1 / t));
		df_2 &= near(stats_t_p_value(t, 2),
					 2 / (sqrt(2 + t * t) * (sqrt(2 + t * t) + t)));
		if (t < 30)
			normal &= near(stats_t_p_value(t, 1e16), stats_t_p_value(t, INFINITY));
	}
	ok(cauchy, "df 1 is the Cauchy distribution");
	ok(df_2, "df 2 has a closed form");
	ok(normal, "for large df, t has the normal distribution");
}

static void
limits(void)
{
	ok(t_quantile(0.5, 3) == 0 && normal_quantile(0.5) == 0, "the median of t is 0");
	ok(t_cdf(0, 3) == 0.5 && stats_t_p_value(0, 3) == 1, "t = 0: the CDF is 0.5, and p is 1");
	ok(t_cdf(INFINITY, 3) == 1 && t_cdf(-INFINITY, 3) == 0 &&
	   stats_t_p_value(-INFINITY, 3) == 0 && stats_t_p_value(INFINITY, 0.01) == 0 &&
	   stats_t_p_value(INFINITY, INFINITY) == 0, "t may be infinite");
	ok(t_cdf(DBL_MIN, 5) == 0.5 && stats_t_p_value(DBL_MIN, 5) == 1, "t may be the smallest double");
	ok(t_quantile(1 - 1e-10, 0.01) == INFINITY &&
	   t_quantile(1e-10, 0.01) == -INFINITY, "quantiles beyond double are infinite");
	ok(isnan(t_quantile(0, 3)) && isnan(t_quantile(1, 3)) &&
	   isnan(t_quantile(-0.5, 3)) && isnan(t_quantile(1.5, 3)) &&
	   isnan(normal_quantile(0)) && isnan(normal_quantile(1)),
	   "p has to be within (0, 1)");
	ok(isnan(t_quantile(0.7, 0)) && isnan(t_quantile(0.7, -1)) &&
	   isnan(t_cdf(1, 0)) && isnan(t_cdf(0, -1)) &&
	   isnan(stats_t_p_value(1, 0)) && isnan(stats_t_p_value(0, -1)),
	   "df has to be above 0");
}

static void
describing(void)
{
	for (int i = 0; i < LENGTH(moments); i++)
	{
		const Moments *m = &moments[i];
		double	   *x = copied(m->x, m->n);

		ok(near(stats_mean(x, m->n), m->mean), "mean of %d: %.17g", m->n, stats_mean(x, m->n));
		ok(near(stats_stddev(x, m->n), m->stddev), "standard deviation of %d: %.17g",
		   m->n, stats_stddev(x, m->n));
		ok(stats_min(x, m->n) == m->min, "min of %d", m->n);
		ok(memcmp(x, m->x, sizeof(double) * m->n) == 0, "mean, standard deviation and min do not change the values");
		ok(stats_median(x, m->n) == m->median, "median of %d", m->n);
		free(x);
	}
	ok(stats_mean(two, 1) == 3.5 && stats_min(two, 1) == 3.5,
	   "one value is its own mean and min");
	ok(isnan(stats_stddev(two, 1)), "one value has no standard deviation");
	ok(isnan(stats_mean(two, 0)) && isnan(stats_stddev(two, 0)) && isnan(stats_min(two, 0)) &&
	   isnan(stats_median(NULL, 0)), "no figure of an empty list");
}

/* Tests values that are far from 0 compared to the differences between them. */
static void
ill_conditioned(void)
{
	enum
	{
		MANY = 100000
	};
	static const double offsets[] = {0, 1e9, -1e9, 1e12, 1e15};
	double	   *x = malloc(sizeof(double) * MANY);

	for (int k = 0; k < LENGTH(offsets); k++)
	{
		x[0] = offsets[k] + 4;
		x[1] = offsets[k] + 7;
		x[2] = offsets[k] + 13;
		x[3] = offsets[k] + 16;
		ok(stats_mean(x, 4) == offsets[k] + 10 && near(stats_stddev(x, 4), sqrt(30)),
		   "four values around %g", offsets[k]);
	}

	/*
	 * 1e9 plus 0 to MANY - 1 units of 2^-20, in mixed order.  These are exact doubles.
	 */
	for (int i = 0; i < MANY; i++)
		x[i] = 1e9 + (i * 7919L) % MANY * 0x1p-20;
	ok(stats_mean(x, MANY) == 1e9 + (MANY - 1) / 2.0 * 0x1p-20, "many values around 1e9: mean");
	ok(near(stats_stddev(x, MANY), sqrt(MANY * (MANY + 1.0) / 12) * 0x1p-20),
	   "many values around 1e9: standard deviation");

	/* The mean itself is no double. */
	x[0] = 1e15;
	x[1] = x[2] = 1e15 + 0.125;
	ok(near(stats_stddev(x, 3), 0.125 / sqrt(3)), "a spread of one unit in the last place");

	/* The expected mean is by fractions.Fraction. */
	for (int i = 0; i < MANY; i++)
		x[i] = 1.0 / (i + 1);
	ok(fabs(stats_mean(x, MANY) / 0.00012090146129863427 - 1) < 1e-12, "the mean of many values has no accumulated rounding errors");

	/*
	 * Data set NumAcc4 of NIST's StRD: the standard deviation must have 8 correct digits.
	 */
	x[0] = 10000000.2;
	for (int i = 1; i < 1001; i++)
		x[i] = i % 2 == 1 ? 10000000.1 : 10000000.3;
	ok(fabs(stats_mean(x, 1001) - 10000000.2) < 4e-9 &&
	   fabs(stats_stddev(x, 1001) - 0.1) < 1e-8, "NIST NumAcc4");

	/* The first value is an outlier. */
	for (int i = 0; i < 1000; i++)
		x[i] = i == 0 ? 1e15 : 0.125 * (i % 2);
	ok(near(stats_mean(x, 1000), 1e12 + 0.0625), "an outlier first: mean");
	ok(near(stats_stddev(x, 1000), 31622776601683.793), "an outlier first: standard deviation");

	for (int i = 0; i < MANY; i++)
		x[i] = 1e9 + 0.1;
	ok(stats_mean(x, MANY) == 1e9 + 0.1 && stats_stddev(x, MANY) == 0, "constant values: their mean is the value, and their deviation 0");
	free(x);
}

static void
intervals(void)
{
	for (int i = 0; i < LENGTH(half_widths); i++)
	{
		const HalfWidth *h = &half_widths[i];
		double		value = half_width(h->stddev, h->n, h->confidence);

		ok(near(value, h->expected), "half-width of %d, confidence %.17g: %.17g",
		   h->n, h->confidence, value);
	}
	ok(half_width(0, 5, 0.95) == 0 && half_width(0, 2, 0.999) == 0,
	   "half-width 0 for constant data");
	ok(isnan(half_width(1, 1, 0.95)) && isnan(half_width(1, 0, 0.95)) &&
	   isnan(half_width(NAN, 1, 0.95)), "no half-width of fewer than two values");
	ok(isnan(half_width(1, 5, 0)) && isnan(half_width(1, 5, 1)) &&
	   isnan(half_width(1, 5, 95)), "no half-width for a confidence out of range");
}

/* Tests means of the smallest values, and the margin of the difference of two such means. */
static void
low_means(void)
{
	double		x[] = {5, 1, 4, 2, 3};
	double		a[] = {4, 1, 3, 2};
	double		b[] = {1, 1, 1, 1};
	double		work[400];
	double		limit;
	double		half;
	int			covered = 0;

	ok(stats_low_mean(x, 5, 2, &limit) == 1.5 && limit == 2, "mean of the two smallest");
	ok(stats_low_mean(x, 5, 5, &limit) == 3 && limit == 5, "mean of all five values");
	ok(isnan(stats_low_mean(x, 5, 0, &limit)) && isnan(stats_low_mean(x, 5, 6, &limit)), "no mean of 0 values, or of more values than there are");
	/*
	 * The values of a are limited to 2, those of b to 1.  Then the differences of the four pairs
	 * are 1, 0, 1 and 1.  Their standard error, 1 / 4, is doubled, because the mean is of two of
	 * the four values.
	 */
	half = stats_low_mean_half_width(a, 2, b, 1, 4, 2, 0.95, work);
	ok(fabs(half / (12.706204736432095 / 2) - 1) < 1e-9, "half-width as computed by hand: %.6f", half);
	ok(isnan(stats_low_mean_half_width(a, 1, b, 1, 4, 1, 0.95, work)), "no half-width of the mean of a single value");
	{
		double		many[500];
		double		sorted[500];
		double		margin;

		ok(isnan(stats_undisturbed(many, 0, &margin, sorted)) && isnan(margin), "undisturbed: NaN for no values");
		for (int i = 0; i < 500; i++)
			many[i] = (i * 7) % 500;
		/* The ten smallest values are 0 to 9. */
		ok(stats_undisturbed(many, 500, &margin, sorted) == 4.5 && margin > 0, "undisturbed: the mean of the fastest fiftieth");
		ok(stats_undisturbed(many, 100, &margin, sorted) == 2, "undisturbed: the mean of at least the fastest five");

		/*
		 * The interval for the median begins with the value of the rank qbinom(0.025, n, 0.5) in R,
		 * counted from the lowest, and ends with that rank counted from the highest: the first and
		 * the last of 6 values, the 40th and the 61st of 100.
		 */
		ok(isnan(stats_typical(many, 0, &margin)) && isnan(margin), "typical: NaN for no values");
		ok(stats_typical(many, 5, &margin) == 2 && isnan(margin), "typical: no margin for five values");
		ok(stats_typical(many, 6, &margin) == 2.5 && margin == 2.5, "typical: for six values, the interval is the whole range");
		ok(stats_typical(many, 100, &margin) == 49.5 && margin == 10.5, "typical: for 100 values, the interval is between ranks 40 and 61");
		covered = 0;
		srand(4);
		for (int rep = 0; rep < 2000; rep++)
		{
			for (int i = 0; i < 30; i++)
				many[i] = -log((rand() + 1.0) / (RAND_MAX + 1.0));
			(void) stats_typical(many, 30, &margin);
			covered += many[9] <= log(2) && many[20] >= log(2) &&
				margin == (many[20] - many[9]) / 2;
		}
		ok(covered > 2000 * 0.94 && covered < 2000 * 0.98, "typical: %d of 2000 intervals contain the median", covered);
		covered = 0;
	}

	/* 95 % of the intervals must contain the true value, for any noise. */
	srand(3);
	for (int rep = 0; rep < 600; rep++)
	{
		double		slow[400];
		double		fast[400];
		double		sorted[400];
		double		limit_slow;
		double		limit_fast;
		double		difference;

		for (int i = 0; i < 400; i++)
		{
			/* Nearly normal values, with occasional long delays */
			double		u = 0;
			double		v = 0;

			for (int k = 0; k < 12; k++)
			{
				u += rand() / (double) RAND_MAX;
				v += rand() / (double) RAND_MAX;
			}
			slow[i] = 15 + u / 10 + (rand() % 3 == 0 ? 40.0 * rand() / RAND_MAX : 0);
			fast[i] = 10 + v / 10 + (rand() % 3 == 0 ? 40.0 * rand() / RAND_MAX : 0);
		}
		memcpy(sorted, slow, sizeof(sorted));
		difference = stats_low_mean(sorted, 400, 100, &limit_slow);
		memcpy(sorted, fast, sizeof(sorted));
		difference -= stats_low_mean(sorted, 400, 100, &limit_fast);
		half = stats_low_mean_half_width(slow, limit_slow, fast, limit_fast, 400, 100, 0.95, work);
		covered += fabs(difference - 5) <= half;
	}
	ok(covered > 600 * 0.92 && covered < 600 * 0.985, "95 %% intervals: %d of 600 contain the truth", covered);
}

typedef struct LineCase
{
	const char *name;
	double		x_offset;
	double		y_offset;
	double		y_factor;
	double		slope;
	double		intercept;
	double		stderr_of_slope;
	double		residual_max;
} LineCase;

/*
 * Cases for points that are made below: x is a time in ns, y the lead of a clock that is 200 ppm
 * fast.  All x and y are integers that doubles represent exactly, even with an offset of 1e18.  The
 * expected results are by rational arithmetic (fractions.Fraction).  scipy.stats.linregress(x, y)
 * agrees in the first two cases.  From an offset of 1e15 on, it loses up to 6 digits.
 */
static const LineCase line_cases[] = {
	{"times from 0", 0, 0, 1,
	0.00019995718850256424, 18.248587757827277, 6.8967875543667286e-08, 41.492204158057682},
	{"times from 1e9", 1e9, 0, 1,
	0.00019995718850256424, -199938.93991480643, 6.8967875543667286e-08, 41.492204158057682},
	{"times from 1e18", 1e18, 0, 1,
	0.00019995718850256424, -199957188502546, 6.8967875543667286e-08, 41.492204158057682},
	{"both from 1e18", 1e18, 1e18, 128,
	0.025594520128328222, 9.7440547987167411e+17, 8.8278880695894126e-06, 5311.0021322313833},
	{"leads from 1e15", 0, 1e15, 1,
	0.00019995718850256424, 1000000000000018.2, 6.8967875543667286e-08, 41.492204158057682},
};

static void
lines(void)
{
	/* The expected results for x and y are by scipy.stats.linregress(). */
	static const double x[] = {1, 2, 3, 4, 5, 6, 7.5};
	static const double y[] = {2.1, 3.9, 6.2, 7.8, 10.1, 11.7, 15.3};
	static const double same[] = {4, 4, 4};
	static const double straight[] = {-1, 1, 3};
	double		index[100];
	double		leads[100];
	double		bound[100];
	double		slope;
	StatsLine	line = stats_line(x, y, 7);

	ok(fabs(line.slope / 2.0077803203661326 - 1) < PRECISION &&
	   fabs(line.y_mean - line.slope * line.x_mean - -0.017391304347825098) < PRECISION &&
	   fabs(line.slope_stderr / 0.042858646440554135 - 1) < PRECISION &&
	   fabs(line.residual_max / 0.32929061784897096 - 1) < PRECISION, "a line through seven points");
	for (int i = 0; i < 100; i++)
		index[i] = i;
	line = stats_line(index, hundred, 100);
	ok(fabs(line.slope / -7.3462848784878485 - 1) < PRECISION &&
	   fabs((line.y_mean - line.slope * line.x_mean) / 1727.8598514851485 - 1) < PRECISION &&
	   fabs(line.slope_stderr / 8.7532006192495846 - 1) < PRECISION &&
	   fabs(line.residual_max / 23397.026991449144 - 1) < PRECISION, "a line through a hundred points");
	for (int c = 0; c < LENGTH(line_cases); c++)
	{
		const LineCase *l = &line_cases[c];
		double		times[100];

		for (int i = 0; i < 100; i++)
		{
			times[i] = l->x_offset + i * 1000064.0 + i * 7919 % 1009 * 128;
			leads[i] = l->y_offset + l->y_factor * (200.0 * i + i * 104729 % 61);
		}
		line = stats_line(times, leads, 100);
		ok(fabs(line.slope / l->slope - 1) < PRECISION, "%s: slope %.17g", l->name, line.slope);
		ok(fabs((line.y_mean - line.slope * line.x_mean) / l->intercept - 1) < PRECISION,
		   "%s: intercept", l->name);
		ok(fabs(line.slope_stderr / l->stderr_of_slope - 1) < PRECISION,
		   "%s: standard error %.17g", l->name, line.slope_stderr);
		ok(fabs(line.residual_max / l->residual_max - 1) < PRECISION,
		   "%s: largest residual %.17g", l->name, line.residual_max);
	}

	line = stats_line(straight, straight, 3);
	ok(line.slope == 1 && line.slope_stderr == 0 && line.residual_max == 0 && line.x_ssd == 8,
	   "points on a line");
	line = stats_line(x, y, 2);
	ok(fabs(line.slope - 1.8) < PRECISION && isnan(line.slope_stderr), "two points have no error");
	line = stats_line(x, y, 1);
	ok(line.x_mean == 1 && isnan(line.slope) && isnan(line.residual_max), "one point has no slope");
	ok(isnan(stats_line(x, y, 0).x_mean), "without points there is no mean");
	ok(isnan(stats_line(same, straight, 3).slope) && stats_line(same, straight, 3).y_mean == 1,
	   "points with equal x have no slope");

	/*
	 * The expected half-widths for m batches are scipy.stats.t.ppf(0.975, m - 2) * linregress(means
	 * of the batches).stderr.
	 */
	ok(fabs(stats_line_half_width(index, hundred, 100, 3, 0.95) / 21.737724397465687 - 1) <
	   PRECISION,
	   "interval by 3 batches");
	ok(fabs(stats_line_half_width(index, hundred, 100, 7, 0.95) / 23.580370283833805 - 1) <
	   PRECISION,
	   "interval by 7 batches of different size");
	ok(fabs(stats_line_half_width(index, hundred, 100, 10, 0.95) / 19.973002802367269 - 1) <
	   PRECISION,
	   "interval by 10 batches");
	ok(fabs(stats_line_half_width(index, hundred, 100, 30, 0.95) / 15.539161640655166 - 1) <
	   PRECISION,
	   "interval by 30 batches");
	ok(isnan(stats_line_half_width(index, hundred, 100, 2, 0.95)) &&
	   isnan(stats_line_half_width(index, hundred, 100, STATS_MAX_BATCHES + 1, 0.95)) &&
	   isnan(stats_line_half_width(index, hundred, 9, 10, 0.95)) &&
	   isnan(stats_line_half_width(index, hundred, 100, 10, 1)), "no interval for arguments out of range");

	/*
	 * If each point has its largest error, down in the first half and up in the second half, the
	 * error of the slope is as large as stats_line_bound() returns.
	 */
	for (int i = 0; i < 100; i++)
	{
		bound[i] = 1 + i % 7;
		leads[i] = 5 + 2 * index[i] + (i < 50 ? -bound[i] : bound[i]);
	}
	slope = stats_line_bound(index, bound, 100);
	ok(fabs(stats_line(index, leads, 100).slope - 2 - slope) < PRECISION, "bound %.6f of the slope's error", slope);
	ok(isnan(stats_line_bound(same, bound, 3)) && isnan(stats_line_bound(index, bound, 1)),
	   "no bound if there is no slope");
}

/*
 * Tests intervals by batches: 95 % must contain the true slope, also if the deviations are
 * correlated.
 */
static void
line_coverage(void)
{
	double		x[1000];
	double		y[1000];
	int			by_batches = 0;
	int			naive = 0;

	srand(5);
	for (int rep = 0; rep < 1000; rep++)
	{
		double		deviation = 0;
		StatsLine	line;

		for (int i = 0; i < 1000; i++)
		{
			/* Autoregressive deviations, correlated over about ten points */
			for (int k = 0; k < 4; k++)
				deviation += rand() / (double) RAND_MAX - 0.5;
			deviation *= 0.9;
			x[i] = 1e15 + i * 1e6;
			y[i] = -50e-6 * i * 1e6 + 30 * deviation;
		}
		line = stats_line(x, y, 1000);
		naive += fabs(line.slope - -50e-6) <= 1.96 * line.slope_stderr;
		by_batches += fabs(line.slope - -50e-6) <= stats_line_half_width(x, y, 1000, 10, 0.95);
	}
	ok(by_batches > 1000 * 0.92 && by_batches < 1000 * 0.98,
	   "intervals by batches: %d of 1000 contain the truth", by_batches);
	ok(naive < 1000 * 0.7, "intervals that wrongly assume independent points: only %d of 1000 contain the truth", naive);
}

int
main(void)
{
	for (int i = 0; i < 100; i++)
		hundred[i] = 1000 + i * 7919 % 1009 / 8.0;
	hundred[17] = 25000;
	hundred[60] = 9000.5;
	hundred[3] = -700.25;

	distributions();
	consistency();
	limits();
	describing();
	ill_conditioned();
	intervals();
	low_means();
	lines();
	line_coverage();
	return done();
}
