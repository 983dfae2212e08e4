// The line about a run that is going on.
#include <gtest/gtest.h>

#include "loadtest/run/progress.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Progress::Clock::time_point kBegin{std::chrono::hours(1)};

TEST(Progress, SaysWhatHasHappenedAndHowFast) {
  Progress progress("2 users, 1 of 3");
  EXPECT_EQ(progress.Line(kBegin, 200, {}),
            "2 users, 1 of 3: 0/200 sent, 0 running, 0 done, 0 failed");
  for (const int ms : {30, 10, 20, 40}) progress.AddFirstToken(kBegin, milliseconds(ms));
  const RunCounters counters{.sent = 120, .done = 112, .failed = 3, .token_count = 431};
  EXPECT_EQ(progress.Line(kBegin + seconds(2), 200, counters),
            "2 users, 1 of 3: 120/200 sent, 8 running, 112 done, 3 failed, 215.5 tokens/s, first "
            "token 20.0 ms");
}

TEST(Progress, HasNoLabelAndNoTotalWhereThereIsNone) {
  EXPECT_EQ(Progress("").Line(kBegin, 0, {.sent = 5, .done = 5}),
            "5 sent, 0 running, 5 done, 0 failed");
}

TEST(Progress, ForgetsWhatIsSecondsAgo) {
  Progress progress("");
  progress.AddFirstToken(kBegin, milliseconds(900));
  progress.AddFirstToken(kBegin + seconds(4), milliseconds(7));
  progress.Line(kBegin, 0, {});
  progress.Line(kBegin + seconds(2), 0, {.token_count = 1000});
  EXPECT_EQ(progress.Line(kBegin + seconds(7), 0, {.token_count = 1050}),
            "0 sent, 0 running, 0 done, 0 failed, 10.0 tokens/s, first token 7.0 ms");
}

// As in a log, where it comes every ten seconds.
TEST(Progress, SaysRatesWhereLinesAreRare) {
  Progress progress("");
  progress.Line(kBegin, 0, {});
  progress.Line(kBegin + seconds(10), 0, {.token_count = 500});
  EXPECT_EQ(progress.Line(kBegin + seconds(20), 0, {.token_count = 700}),
            "0 sent, 0 running, 0 done, 0 failed, 20.0 tokens/s");
}

}  // namespace
}  // namespace weft
