// Who waits for slots, and who is next. Slots belong to jobs: all that a client asks for in one
// request, however many prompts and choices that makes. Next is the oldest sequence of the job that
// holds the fewest slots; of jobs that hold as many, the older sequence; but first priority
// decides. So whoever comes is served before those that have something already, and a job of a
// thousand sequences is one among others. Used by the scheduler alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "engine/sequence.h"

namespace weft {

struct OlderFirst {
  bool operator()(const Sequence* a, const Sequence* b) const { return a->age < b->age; }
};
using SequenceQueue = std::set<Sequence*, OlderFirst>;

class WaitingLine {
 public:
  // The place in the line of a job of which a sequence waits.
  struct Place {
    int32_t priority = 0;
    int32_t slot_count = 0;  // that the job holds
    SequenceAge age;         // of its oldest waiting sequence
    bool operator<(const Place& other) const;
  };
  // A job's id, and whether it is in the background.
  struct JobKind {
    explicit JobKind(const Sequence& sequence)
        : id(sequence.job_id), is_background(sequence.is_background()) {}
    RequestId id;
    bool is_background;
  };
  struct Job;
  using Line = std::map<Place, Job*>;
  struct Job {
    int32_t slot_count = 0;  // of all its running sequences
    SequenceQueue waiting;
    std::optional<Place> place;
    Line::node_type node;  // its own of the line while it has no place
  };

  // Where memory is refused nothing has changed. Only what is new takes some: who leaves, and jobs
  // that are known, can always be told of.

  // A sequence waits. Those of a search wait as its first beam.
  void Insert(Sequence& sequence);
  // It no longer does; nothing happens if it did not.
  void Erase(Sequence& sequence) noexcept;
  // The job holds so many slots more, or fewer.
  void AddSlots(RequestId job_id, int32_t count);

  // Jobs of which a sequence waits, the next one first.
  const Line& jobs() const { return line_; }
  int32_t slot_count(RequestId job_id) const;
  // To jobs in the foreground, those in the background are no others.
  bool OthersWait(const JobKind& job) const { return FirstOfOthers(job) != nullptr; }
  // The next sequence of another job; nullptr: there is none.
  Sequence* FirstOfOthers(const JobKind& job) const;
  // The slots that all other jobs' waiting sequences need, if each takes as many as its job's
  // oldest; no more than `most`.
  int32_t SlotsForOthers(const JobKind& job, int32_t most) const;
  // Whether the next job is in the background: then all are.
  bool IsInBackground() const;
  // Sequences, the beams of a search as one.
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  // With one of no slots and no sequences, if there was none.
  Job& JobOf(RequestId job_id);
  void Update(RequestId job_id, Job& job) noexcept;

  std::map<RequestId, Job> jobs_;  // that hold slots or wait
  Line line_;
  size_t size_ = 0;
};

}  // namespace weft
