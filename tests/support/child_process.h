// A program started by a test. It dies with the test, however the test ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/clock.h"

namespace holdfast::test {

struct ChildOptions {
  std::vector<std::string> arguments{};  // the first is the program, looked up in PATH
  std::string output_file{};             // gets what it prints; empty: the test's own output
};

class ChildProcess {
 public:
  explicit ChildProcess(const ChildOptions& options);
  // Kills it if it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  bool running();
  void kill();  // SIGKILL, and waits until it is gone
  void terminate();
  void freeze();  // SIGSTOP
  void thaw();    // SIGCONT
  // Its exit code, 128 + the signal that ended it, or -1 if it still runs after `patience`.
  int wait(Duration patience);
  pid_t pid() const { return pid_; }

 private:
  void signal(int number);

  pid_t pid_ = -1;
  int exit_code_ = -1;  // known once it is gone
};

// Runs a program to its end: its exit code, and all it printed.
struct ProgramResult {
  int exit_code = -1;
  std::string output{};
};
ProgramResult run_program(std::vector<std::string> arguments, Duration patience);

}  // namespace holdfast::test
