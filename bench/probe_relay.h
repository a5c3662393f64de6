// The least a process can do between a caller and an application, each with a connection of its
// own: accept, read, connect, send, read, send, wait for the caller's end, close; system calls that
// block and nothing else. It parses nothing, has no time-outs and no limits. What it adds to a
// direct probe is what the machine takes for the second connection and for waking one process more;
// a handler is measured beside it, in the same run.
#pragma once

#include <cstdint>
#include <string>

#include "support/child_process.h"

namespace holdfast::bench {

// In place of main(), for a process that is started as `PROGRAM --relay PORT APPLICATION_PORT`.
int run_relay(uint16_t port, uint16_t application_port);

class RawRelay {
 public:
  // Serves when it returns. `program` is the benchmark itself.
  explicit RawRelay(uint16_t application_port);
  uint16_t port() const { return port_; }
  pid_t pid() const { return process_.pid(); }

 private:
  uint16_t port_;
  test::ChildProcess process_;
};

}  // namespace holdfast::bench
