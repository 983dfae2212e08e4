// A load plan carried out.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "loadtest/run/request_record.h"

namespace weft {

// How late the client was for things that had a time.
struct ClientLag {
  int64_t sample_count = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  double max_ms = 0;
  int64_t late_count = 0;  // of the samples: more than --max-lag

  double late_share() const {
    return sample_count == 0 ? 0
                             : static_cast<double>(late_count) / static_cast<double>(sample_count);
  }
};

// Whether the client kept up: figures of a run in which it did not are the client's, not the
// server's.
struct ClientHealth {
  double cpu_s = 0;      // of the thread that drives everything, in the run
  double cpu_share = 0;  // of one core
  // Of the run, in which that thread was ready to run and others had the cores; 0 where the kernel
  // does not say.
  double waiting_share = 0;
  // Of a timer that runs besides, from the run's begin to its end: how late arrivals may have been
  // read.
  ClientLag timer;
  // Of requests that had a time and waited for no other's connection: from then to just before
  // their first byte. A closed loop has none but turns after a pause.
  ClientLag sending;
  double cpu_us_per_request = 0;  // estimated: cpu_s over requests, and over tokens
  double cpu_us_per_token = 0;
  std::string invalid;  // why the run says nothing about the server; empty: it does
  // Then: whether the client is to blame, who had too much to do or too few descriptors. Otherwise
  // it was late since the machine's cores were others' for at least as long.
  bool was_bottleneck = false;
};

struct LoadRun {
  std::string url;        // as asked for
  std::string model;      // that was asked for; if none was named, the first one listed
  std::string server;     // what answers: the Server header of its first answer; empty: it has none
  bool generates = true;  // text; otherwise its texts have vectors or scores, and no tokens come
  std::chrono::system_clock::time_point date;  // of `begin`, by the calendar
  std::vector<RequestRecord> records;          // in the order in which they ended
  RequestRecord::Clock::time_point begin;
  RequestRecord::Clock::time_point end;
  bool interrupted = false;  // by SIGINT: fewer records than the plan has requests
  ClientHealth client;
  // Correctness under load: of `verified_count` requests the output was compared with that of the
  // same request alone; those that differ have failed with "wrong output".
  int64_t verified_count = 0;
  int64_t mismatch_count = 0;
};

}  // namespace weft
