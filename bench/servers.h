// The servers a benchmark measures, each a real process on loopback with its own folder: one member
// of Debian's etcd with its defaults, and our controller on SQLite.
#pragma once

#include <memory>
#include <string>

#include "support/child_process.h"
#include "support/temp_dir.h"

namespace holdfast::bench {

// Started and answering; killed with the object. Aborts with a message if it does not come up.
class Server {
 public:
  static std::unique_ptr<Server> etcd();
  static std::unique_ptr<Server> holdfast();

  const std::string& address() const { return address_; }

 private:
  Server() = default;
  void wait_until_it_answers() const;

  test::TempDir dir_;
  std::string address_;
  std::unique_ptr<test::ChildProcess> process_;
};

}  // namespace holdfast::bench
