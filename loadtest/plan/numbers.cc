#include "loadtest/plan/numbers.h"

#include "base/quoted.h"

namespace weft {

Result<double> ParseShare(std::string_view text) {
  const bool percent = text.ends_with('%');
  std::string_view digits = text;
  if (percent) digits.remove_suffix(1);
  const std::optional<double> value = ParseWhole<double>(digits);
  const double share = value.value_or(-1) / (percent ? 100 : 1);
  if (share >= 0 && share <= 1) return share;
  return Fail(ErrorCode::kInvalidArgument, "{} is not a share: expected 0% to 100%, or 0 to 1",
              Quoted(text));
}

}  // namespace weft
