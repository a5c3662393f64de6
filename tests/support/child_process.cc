#include "support/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <thread>

#include "base/check.h"
#include "support/temp_dir.h"

namespace holdfast::test {
namespace {

// Runs in the child, where only functions that are safe after fork() in a threaded program may be
// called.
[[noreturn]] void become(char* const* arguments, int output, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  if (output >= 0) {
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
  }
  ::execvp(arguments[0], arguments);
  ::_exit(127);
}

}  // namespace

ChildProcess::ChildProcess(const ChildOptions& options) {
  std::vector<char*> arguments;
  for (const std::string& argument : options.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  int output = -1;
  if (!options.output_file.empty()) {
    output = ::open(options.output_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    HF_CHECK(output >= 0, "the output file can be written");
  }
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  HF_CHECK(pid_ >= 0, "a process can be started");
  if (pid_ == 0) become(arguments.data(), output, parent);
  if (output >= 0) ::close(output);
}

ChildProcess::~ChildProcess() {
  if (running()) kill();
}

bool ChildProcess::running() {
  if (pid_ < 0) return false;
  return wait(Duration::zero()) < 0;
}

void ChildProcess::kill() {
  if (pid_ < 0) return;
  signal(SIGKILL);
  wait(std::chrono::seconds(10));
}

void ChildProcess::terminate() {
  signal(SIGTERM);
}
void ChildProcess::freeze() {
  signal(SIGSTOP);
}
void ChildProcess::thaw() {
  signal(SIGCONT);
}

int ChildProcess::wait(Duration patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (pid_ >= 0) {
    int status = 0;
    const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended == pid_) {
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      pid_ = -1;
      break;
    }
    if (std::chrono::steady_clock::now() >= deadline) return -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return exit_code_;
}

void ChildProcess::signal(int number) {
  if (pid_ >= 0) ::kill(pid_, number);
}

ProgramResult run_program(std::vector<std::string> arguments, Duration patience) {
  const TempDir folder;
  const std::string file = folder.file("output");
  ChildProcess program({.arguments = std::move(arguments), .output_file = file});
  const int exit_code = program.wait(patience);
  std::ifstream output(file);
  return {.exit_code = exit_code,
          .output = std::string(std::istreambuf_iterator<char>(output), {})};
}

}  // namespace holdfast::test
