#include "engine/waiting_line.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace weft {

bool WaitingLine::Place::operator<(const Place& other) const {
  return std::tie(priority, slot_count, age) <
         std::tie(other.priority, other.slot_count, other.age);
}

void WaitingLine::Insert(Sequence& sequence) {
  SequenceQueue alone = {&sequence};
  Job& job = JobOf(sequence.job_id);
  WEFT_CHECK(job.waiting.insert(alone.extract(alone.begin())).inserted);
  ++size_;
  Update(sequence.job_id, job);
}

void WaitingLine::Erase(Sequence& sequence) noexcept {
  const auto job = jobs_.find(sequence.job_id);
  if (job == jobs_.end() || job->second.waiting.erase(&sequence) == 0) return;
  --size_;
  Update(job->first, job->second);
}

void WaitingLine::AddSlots(RequestId job_id, int32_t count) {
  Job& job = JobOf(job_id);
  job.slot_count += count;
  WEFT_CHECK(job.slot_count >= 0);
  Update(job_id, job);
}

WaitingLine::Job& WaitingLine::JobOf(RequestId job_id) {
  const auto known = jobs_.find(job_id);
  if (known != jobs_.end()) return known->second;
  Line line = {{Place(), nullptr}};
  Job& job = jobs_[job_id];
  job.node = line.extract(line.begin());
  job.node.mapped() = &job;
  return job;
}

void WaitingLine::Update(RequestId job_id, Job& job) noexcept {
  if (job.place) job.node = line_.extract(*job.place);
  job.place.reset();
  if (!job.waiting.empty()) {
    const SequenceAge& age = (*job.waiting.begin())->age;
    job.place = Place{.priority = age.priority, .slot_count = job.slot_count, .age = age};
    job.node.key() = *job.place;
    WEFT_CHECK(line_.insert(std::move(job.node)).inserted);
  } else if (job.slot_count == 0) {
    jobs_.erase(job_id);
  }
}

int32_t WaitingLine::slot_count(RequestId job_id) const {
  const auto job = jobs_.find(job_id);
  return job == jobs_.end() ? 0 : job->second.slot_count;
}

Sequence* WaitingLine::FirstOfOthers(const JobKind& job) const {
  for (const auto& [place, other] : line_) {
    Sequence& oldest = **other->waiting.begin();
    if (oldest.is_background() && !job.is_background) return nullptr;
    if (oldest.job_id != job.id) return &oldest;
  }
  return nullptr;
}

int32_t WaitingLine::SlotsForOthers(const JobKind& job, int32_t most) const {
  int64_t count = 0;
  for (const auto& [place, other] : line_) {
    const Sequence& oldest = **other->waiting.begin();
    if (oldest.is_background() && !job.is_background) break;
    if (oldest.job_id != job.id) count += std::ssize(other->waiting) * oldest.least_slots();
    if (count >= most) return most;
  }
  return static_cast<int32_t>(count);
}

bool WaitingLine::IsInBackground() const {
  return !line_.empty() && line_.begin()->first.age.is_background();
}

}  // namespace weft
