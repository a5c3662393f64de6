// A real `holdfastd controller` in a folder of its own, with its unix sockets and three ports on
// loopback: the API with TLS (open once there is an authority, see cluster_process.h), the same
// over HTTPS, and health. And the real `holdfast` command pointed at it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "support/child_process.h"
#include "support/temp_dir.h"

namespace holdfast::test {

using Arguments = std::vector<std::string>;

// `holdfast --server SERVER ARGUMENTS...`, with `input` as its stdin.
ProgramOutcome run_cli(const std::string& server, Arguments arguments, std::string input = "");

class ControllerProcess {
 public:
  // Started when it returns: its unix socket answers. `arguments` come after those for its folder
  // and ports.
  explicit ControllerProcess(Arguments arguments = {});

  void terminate() { process_->terminate(); }
  void kill() { process_->kill(); }  // -9
  void hang_up() const;              // SIGHUP
  void freeze() { process_->freeze(); }
  void thaw() { process_->thaw(); }
  // Its exit code once it ended; -1 if it still runs after `patience`.
  int wait(Duration patience) { return process_->wait(patience); }
  bool running() { return process_->running(); }
  // On the same folder and port, with `more` arguments this time; ready when it returns.
  void start(const Arguments& more = {});

  ProgramOutcome cli(Arguments arguments, std::string input = "") const {
    return run_cli(unix_server(), std::move(arguments), std::move(input));
  }

  std::string data_dir() const { return folder_.file("data"); }
  std::string socket() const { return data_dir() + "/holdfast.sock"; }
  std::string unix_server() const { return "unix:" + socket(); }
  uint16_t port() const { return port_; }
  std::string tcp_server() const { return on_loopback(port_); }
  std::string https_server() const { return on_loopback(https_port_); }
  uint16_t https_port() const { return https_port_; }
  std::string health_server() const { return on_loopback(health_port_); }
  // What it wrote to its log so far.
  std::string log() const;
  size_t memory_bytes() const;
  size_t peak_memory_bytes() const;
  pid_t pid() const { return process_->pid(); }

 private:
  bool ready() const;
  static std::string on_loopback(uint16_t port);

  TempDir folder_;
  uint16_t port_ = 0;
  uint16_t https_port_ = 0;
  uint16_t health_port_ = 0;
  Arguments arguments_;
  std::unique_ptr<ChildProcess> process_;
};

// Runs `holdfastd ARGUMENTS...`, which is expected to refuse and end by itself.
ProgramOutcome run_daemon(Arguments arguments);

// A service of this name with one port, as YAML.
std::string service_yaml(const std::string& name, int port = 8080);

// The command line of an agent or a proxy; a proxy takes whatever ports are free, and drains for
// seconds, not minutes: agents that have no other proxy stay until the end.
Arguments node_command(const std::string& role, const std::string& data_dir);

}  // namespace holdfast::test
