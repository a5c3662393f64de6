// A running store_follower, what it said so far, and whether its store is what it should be.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "store/replica.h"
#include "support/child_process.h"

namespace holdfast::test {

struct FollowerOutput {
  store::Head acknowledged;  // the last one; its chain is not said
  size_t acknowledgements = 0;
  size_t pages = 0;
  size_t copies = 0;
  std::set<std::string> errors;  // codes
  std::vector<std::string> broken;
};

class StoreFollowerRun {
 public:
  // `before` leads the command line, as strace does.
  StoreFollowerRun(const std::string& store, const std::string& output, store::Epoch epoch,
                   std::vector<std::string> before = {});

  FollowerOutput output() const;
  ChildProcess& process() { return process_; }

 private:
  std::string output_;
  ChildProcess process_;
};

// Opens the store (which checks its integrity) and compares it with the history it follows: why it
// is not a whole beginning of it that has all that was acknowledged; empty if it is.
std::string fault_of_follower(const std::string& store, const store::Head& acknowledged);

}  // namespace holdfast::test
