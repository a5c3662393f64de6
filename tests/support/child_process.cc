#include "support/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/check.h"
#include "support/temp_dir.h"

namespace holdfast::test {
namespace {

constexpr size_t kMostOutputBytes = size_t{16} << 20;

// What a child gets in place of the test's own; -1: the test's own.
struct Streams {
  int input = -1;
  int output = -1;
  int error = -1;
};

// Runs in the child, which shares this process's memory until it calls exec: it changes nothing
// there and calls only functions that are safe in a signal handler.
[[noreturn]] void become(char* const* arguments, const Streams& streams, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  if (streams.input >= 0) ::dup2(streams.input, STDIN_FILENO);
  if (streams.output >= 0) ::dup2(streams.output, STDOUT_FILENO);
  if (streams.error >= 0) ::dup2(streams.error, STDERR_FILENO);
  ::execvp(arguments[0], arguments);
  ::_exit(127);
}

int open_to_write(const std::string& file) {
  if (file.empty()) return -1;
  const int descriptor =
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR);
  HF_CHECK(descriptor >= 0, "the output file can be written");
  return descriptor;
}

int open_to_read(const std::string& file) {
  if (file.empty()) return -1;
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  HF_CHECK(descriptor >= 0, "the input file can be read");
  return descriptor;
}

std::string beginning_of(const std::string& file) {
  std::error_code missing;
  const size_t size = std::filesystem::file_size(file, missing);
  std::ifstream stream(file, std::ios::binary);
  std::string text(missing ? 0 : std::min(size, kMostOutputBytes), '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(stream.gcount()));
  return text;
}

}  // namespace

ChildProcess::ChildProcess(const ChildOptions& options) {
  std::vector<char*> arguments;
  for (const std::string& argument : options.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  Streams streams{.input = open_to_read(options.input_file),
                  .output = open_to_write(options.output_file),
                  .error = open_to_write(options.error_file)};
  if (options.error_file.empty()) streams.error = streams.output;
  const pid_t parent = ::getpid();
  // fork() copies the page tables of a test that has hundreds of megabytes under ASan; tests that
  // run the CLI in a loop spent a quarter of their time there.
  const pid_t child = ::vfork();
  if (child == 0) become(arguments.data(), streams, parent);
  HF_CHECK(child > 0, "a process can be started");
  pid_ = child;
  if (streams.input >= 0) ::close(streams.input);
  if (streams.output >= 0) ::close(streams.output);
  if (streams.error != streams.output) ::close(streams.error);
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
    rusage usage{};
    const pid_t ended = ::wait4(pid_, &status, WNOHANG, &usage);
    if (ended == pid_) {
      peak_memory_bytes_ = static_cast<size_t>(usage.ru_maxrss) * 1024;
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
  return {.exit_code = exit_code, .output = beginning_of(file)};
}

ProgramOutcome run_program(const ProgramRun& run) {
  const TempDir folder;
  const std::string input = run.input_file.empty() ? folder.file("input") : run.input_file;
  if (run.input_file.empty()) std::ofstream(input, std::ios::binary) << run.input;
  const std::string output = run.output_file.empty() ? folder.file("output") : run.output_file;
  ChildProcess program({.arguments = run.arguments,
                        .output_file = output,
                        .error_file = folder.file("error"),
                        .input_file = input});
  const int exit_code = program.wait(run.patience);
  program.kill();
  return {.exit_code = exit_code,
          .output = run.output_file.empty() ? beginning_of(output) : "",
          .error = beginning_of(folder.file("error")),
          .peak_memory_bytes = program.peak_memory_bytes()};
}

}  // namespace holdfast::test
