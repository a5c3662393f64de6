// A running store_writer and what it said so far.
#pragma once

#include <set>
#include <string>

#include "support/child_process.h"

namespace holdfast::test {

struct WriterOutput {
  std::set<std::string> acknowledged;  // keys
  std::set<std::string> errors;        // codes
};

class StoreWriterRun {
 public:
  // `before` leads the command line, as strace does.
  StoreWriterRun(const std::string& store, const std::string& output, const std::string& round,
                 std::vector<std::string> before = {});

  WriterOutput output() const;
  ChildProcess& process() { return process_; }

 private:
  std::string output_;
  ChildProcess process_;
};

// Opens the store (which checks its integrity) and returns the acknowledged keys it has not.
std::vector<std::string> lost_writes(const std::string& store,
                                     const std::set<std::string>& acknowledged);

}  // namespace holdfast::test
