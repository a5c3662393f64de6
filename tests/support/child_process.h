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
  std::string error_file{};              // gets its stderr; empty: goes where stdout goes
  std::string input_file{};              // is its stdin; empty: the test's own
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
  // The most memory it ever had at once. Known once it is gone; never less than the test's own at
  // the time it was started, which is the kernel's way to count.
  size_t peak_memory_bytes() const { return peak_memory_bytes_; }

 private:
  void signal(int number);

  pid_t pid_ = -1;
  int exit_code_ = -1;  // known once it is gone
  size_t peak_memory_bytes_ = 0;
};

// Runs a program to its end: its exit code, and all it printed.
struct ProgramResult {
  int exit_code = -1;
  std::string output{};
};
ProgramResult run_program(std::vector<std::string> arguments, Duration patience);

// The same with its stdin given, and its stdout told apart from its stderr.
struct ProgramRun {
  std::vector<std::string> arguments{};
  std::string input{};        // its whole stdin
  std::string input_file{};   // or where that comes from, as /dev/zero
  std::string output_file{};  // where stdout goes instead of the result, as /dev/full
  Duration patience = std::chrono::seconds(20);
};
struct ProgramOutcome {
  int exit_code = -1;  // -1: still ran when patience ended, and was killed
  std::string output{};
  std::string error{};
  size_t peak_memory_bytes = 0;
};
// Of each stream the first 16 MiB.
ProgramOutcome run_program(const ProgramRun& run);

}  // namespace holdfast::test
