#include "base/exact_math.h"

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace weft::exact {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kSmallestNormal = std::numeric_limits<double>::min();

// ln 2 and pi / 2 in pieces: each but the last has so few bits that its product with the integer of
// the range reduction is exact.
constexpr double kLn2High = 0x1.62e42fefa2p-1;
constexpr double kLn2Low = 0x1.9ef35793c7673p-41;
constexpr std::array<double, 4> kHalfPi = {0x1.921fb54p+0, 0x1.10b461p-30, 0x1.a62633145c06ep-58,
                                           0x1.cd129024e088ap-115};

// Nearest integer (ties to even) of |x| < 2^51: adding 1.5 * 2^52 leaves no room for a fraction.
constexpr double kRoundingShift = 0x1.8p52;
double RoundToInteger(double x) { return (x + kRoundingShift) - kRoundingShift; }

// A sum of two doubles, the second below half an ulp of the first.
struct Double2 {
  double high;
  double low;
};

Double2 FastTwoSum(double a, double b) {  // |a| >= |b|
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

Double2 TwoSum(double a, double b) {  // Knuth
  const double sum = a + b;
  const double b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

Double2 TwoProduct(double a, double b) {  // Dekker, with Veltkamp's splitting
  constexpr double kSplitter = 0x1.0p27 + 1;
  const double a_scaled = a * kSplitter;
  const double a_high = a_scaled - (a_scaled - a);
  const double a_low = a - a_high;
  const double b_scaled = b * kSplitter;
  const double b_high = b_scaled - (b_scaled - b);
  const double b_low = b - b_high;
  const double product = a * b;
  return {product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

// x * 2^exponent, in two steps where one factor would leave the range.
double Scale(double x, int64_t exponent) {
  const int64_t half = exponent / 2;
  const double first = std::bit_cast<double>(static_cast<uint64_t>(half + 1023) << 52);
  const double second = std::bit_cast<double>(static_cast<uint64_t>(exponent - half + 1023) << 52);
  return x * first * second;
}

// e^(x + low) for |low| far below an ulp of x.
double ExpOfSum(double x, double low) {
  if (!(x <= 709.79)) return x > 0 ? kInfinity : x;  // NaN stays
  if (x < -708.5) return 0;
  const double n = RoundToInteger(x * 0x1.71547652b82fep+0);  // x / ln 2
  const double high = x - n * kLn2High;
  const double correction = low - n * kLn2Low;
  const Double2 r = TwoSum(high, correction);
  // Taylor's series: at |r| <= 0.35 the first term left out is below 2^-57.
  double sum = 1.0 / 6227020800;
  for (const double factorial : {479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0,
                                 720.0, 120.0, 24.0, 6.0, 2.0}) {
    sum = sum * r.high + 1.0 / factorial;
  }
  const double tail = r.low + r.high * r.high * sum;
  const double result = Scale(1.0 + (r.high + tail), static_cast<int64_t>(n));
  return result < kSmallestNormal ? 0 : result;
}

// x = 2^exponent * (1 + fraction) with 1 + fraction in [sqrt(1/2), sqrt(2)).
struct Decomposed {
  double exponent;
  double fraction;
};

Decomposed Decompose(double x) {
  const auto bits = std::bit_cast<uint64_t>(x);
  int64_t exponent = static_cast<int64_t>(bits >> 52) - 1023;
  double mantissa = std::bit_cast<double>((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
  if (mantissa >= 0x1.6a09e667f3bcdp+0) {
    mantissa *= 0.5;
    ++exponent;
  }
  return {static_cast<double>(exponent), mantissa - 1.0};
}

// 2 (z / 3 + z^2 / 5 + z^3 / 7 + ...) with z = s^2: what log((1 + s) / (1 - s)) has beyond 2 s,
// over s.
double AtanhTail(double z) {
  double sum = 2.0 / 25;
  for (const double divisor : {23.0, 21.0, 19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0}) {
    sum = sum * z + 2.0 / divisor;
  }
  return sum * z;
}

// log x to about 2^-65 relative to the parts it is the sum of.
Double2 LogWide(double x) {
  const auto [exponent, fraction] = Decompose(x);
  // s = f / (2 + f) with the quotient's error.
  const Double2 denominator = FastTwoSum(2.0, fraction);
  const double quotient = fraction / denominator.high;
  const Double2 back = TwoProduct(quotient, denominator.high);
  const double error =
      (((fraction - back.high) - back.low) - quotient * denominator.low) / denominator.high;
  const double tail = quotient * AtanhTail(quotient * quotient);
  const Double2 mantissa_log = TwoSum(2 * quotient, tail);
  const Double2 sum = TwoSum(exponent * kLn2High, mantissa_log.high);
  const double low = sum.low + (mantissa_log.low + 2 * error + exponent * kLn2Low);
  return FastTwoSum(sum.high, low);
}

// x = quadrant * pi / 2 + (high + low), |high + low| <= pi / 4 and a little.
struct Angle {
  uint64_t quadrant;
  double high;
  double low;
};

Angle ReduceAngle(double x) {
  const double n = RoundToInteger(x * 0x1.45f306dc9c883p-1);  // x / (pi / 2)
  const Double2 first = TwoSum(x - n * kHalfPi[0], -(n * kHalfPi[1]));
  const Double2 third = TwoProduct(n, kHalfPi[2]);
  const Double2 second = TwoSum(first.high, -third.high);
  const double low = first.low + second.low - third.low - n * kHalfPi[3];
  const Double2 angle = FastTwoSum(second.high, low);
  return {static_cast<uint64_t>(static_cast<int64_t>(n)) & 3, angle.high, angle.low};
}

double SinOfReduced(double x, double low) {
  const double z = x * x;
  double sum = -1.0 / 121645100408832000.0;
  for (const double term :
       {1.0 / 355687428096000.0, -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0,
        1.0 / 362880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0}) {
    sum = sum * z + term;
  }
  return x + (x * z * sum + low * (1 - 0.5 * z));
}

double CosOfReduced(double x, double low) {
  const double z = x * x;
  double sum = 1.0 / 2432902008176640000.0;
  for (const double term :
       {-1.0 / 6402373705728000.0, 1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0,
        -1.0 / 3628800.0, 1.0 / 40320.0, -1.0 / 720.0, 1.0 / 24.0}) {
    sum = sum * z + term;
  }
  const double half = 0.5 * z;
  const double head = 1.0 - half;
  return head + (((1.0 - head) - half) + (z * z * sum - x * low));
}

bool IsReducible(double x) { return x > -0x1p26 && x < 0x1p26; }

}  // namespace

double Exp(double x) { return ExpOfSum(x, 0); }

double Log(double x) {
  if (!(x >= kSmallestNormal)) return x >= 0 || x > -kSmallestNormal ? -kInfinity : kNan;
  if (x == kInfinity) return x;
  return LogWide(x).high;
}

double Pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return kNan;
  if (x == kInfinity) return y > 0 ? kInfinity : 0;
  if (x < kSmallestNormal) {
    if (x <= -kSmallestNormal) return kNan;
    return y > 0 ? 0 : kInfinity;
  }
  const Double2 log = LogWide(x);
  const double rough = y * log.high;
  if (!(rough > -800 && rough < 800)) return rough > 0 ? kInfinity : 0;
  const Double2 product = TwoProduct(y, log.high);
  return ExpOfSum(product.high, product.low + y * log.low);
}

double Sin(double x) {
  if (!IsReducible(x)) return kNan;
  const auto [quadrant, high, low] = ReduceAngle(x);
  const double value = quadrant & 1 ? CosOfReduced(high, low) : SinOfReduced(high, low);
  return quadrant & 2 ? -value : value;
}

double Cos(double x) {
  if (!IsReducible(x)) return kNan;
  const auto [quadrant, high, low] = ReduceAngle(x);
  const double value = quadrant & 1 ? SinOfReduced(high, low) : CosOfReduced(high, low);
  return quadrant == 1 || quadrant == 2 ? -value : value;
}

}  // namespace weft::exact
