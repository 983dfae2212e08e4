#include "loadtest/plan/lengths.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/exact_math.h"
#include "base/quoted.h"
#include "loadtest/plan/numbers.h"

namespace weft {
namespace {

using Kind = LengthDistribution::Kind;

bool IsWhole(double value) { return value == std::floor(value); }

bool IsLength(double value) { return value >= 1 && value <= kMaxLength; }

std::optional<LengthDistribution> ParseShape(std::string_view text) {
  Kind kind = Kind::kConstant;
  char separator = ',';
  if (text.starts_with("normal:")) {
    kind = Kind::kNormal;
  } else if (text.starts_with("lognormal:")) {
    kind = Kind::kLognormal;
  } else if (text.find('-') != std::string_view::npos) {
    kind = Kind::kUniform;
    separator = '-';
  }
  if (kind != Kind::kUniform && kind != Kind::kConstant) text.remove_prefix(text.find(':') + 1);
  const size_t cut = kind == Kind::kConstant ? text.size() : text.find(separator);
  if (cut == std::string_view::npos) return std::nullopt;
  const std::optional<double> first = ParseWhole<double>(text.substr(0, cut));
  if (kind == Kind::kConstant && first) return LengthDistribution{kind, *first, 0};
  if (cut == text.size()) return std::nullopt;
  const std::optional<double> second = ParseWhole<double>(text.substr(cut + 1));
  if (!first || !second) return std::nullopt;
  return LengthDistribution{kind, *first, *second};
}

bool IsSound(const LengthDistribution& lengths) {
  if (!IsLength(lengths.first)) return false;
  switch (lengths.kind) {
    case Kind::kConstant:
      return IsWhole(lengths.first);
    case Kind::kUniform:
      return IsWhole(lengths.first) && IsWhole(lengths.second) && IsLength(lengths.second) &&
             lengths.second >= lengths.first;
    case Kind::kNormal:
    case Kind::kLognormal:
      return lengths.second >= 0 && lengths.second <= kMaxLength;
  }
  return false;
}

double Draw(const LengthDistribution& lengths, Random& random) {
  const auto [kind, first, second] = lengths;
  switch (kind) {
    case Kind::kConstant:
      return first;
    case Kind::kUniform:
      return first + static_cast<double>(random.Below(static_cast<uint64_t>(second - first) + 1));
    case Kind::kNormal:
      return first + second * random.Normal();
    case Kind::kLognormal: {
      const double variance = exact::Log(1 + (second / first) * (second / first));
      return first * exact::Exp(std::sqrt(variance) * random.Normal() - variance / 2);
    }
  }
  return first;
}

}  // namespace

Result<LengthDistribution> ParseLengths(std::string_view text) {
  const std::optional<LengthDistribution> lengths = ParseShape(text);
  if (lengths && IsSound(*lengths)) return *lengths;
  return Fail(ErrorCode::kInvalidArgument,
              "{} is not a length from 1 to {}, or a distribution of them: expected N, LEAST-MOST, "
              "normal:MEAN,DEVIATION or lognormal:MEAN,DEVIATION",
              Quoted(text), kMaxLength);
}

int32_t DrawLength(const LengthDistribution& lengths, Random& random) {
  const double length = std::floor(Draw(lengths, random) + 0.5);
  return static_cast<int32_t>(std::clamp(length, 1.0, static_cast<double>(kMaxLength)));
}

}  // namespace weft
