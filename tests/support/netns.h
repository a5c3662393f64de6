// Machines that are network namespaces of this one, on a switch whose ports a test can pull:
//
//     node "test", 10.77.0.1: this process ── switch ─┬─ node "a", 10.77.0.2
//                                                     ├─ node "b", 10.77.0.3
//                                                     └─ ...
//
// The test's own process leaves the machine's network for one of its own first, so nothing of this
// is seen outside, nothing has to have a name of its own, and all of it goes with the process,
// however it ends. Needs root.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "support/child_process.h"

namespace holdfast::test {

// This process gets a network of its own, with loopback, and mounts that nobody else sees. The same
// again does nothing. Requires: no thread was started yet, or it is done already. Otherwise why it
// cannot be, for GTEST_SKIP().
Status enter_own_network();

class OwnNetwork {
 public:
  // Requires: enter_own_network() said OK; one of these at a time.
  explicit OwnNetwork(const std::vector<std::string>& nodes);
  ~OwnNetwork();
  OwnNetwork(const OwnNetwork&) = delete;
  OwnNetwork& operator=(const OwnNetwork&) = delete;

  const std::string& address(const std::string& node) const { return node_of(node).address; }
  // The command line that runs `words` on the node; the process started is the program itself.
  std::vector<std::string> on(const std::string& node, std::vector<std::string> words) const;
  // Sockets that `work` makes are the node's.
  void within(const std::string& node, const std::function<void()>& work) const;

  // Nothing reaches it and nothing comes from it.
  void isolate(const std::string& node);
  // The two do not reach each other; everybody else reaches both. One such pair at a time.
  void cut(const std::string& one, const std::string& other);
  // What `from` sends to `to` is lost; the other way it arrives.
  void lose(const std::string& from, const std::string& to);
  void heal();

 private:
  struct Node {
    std::string address;
    std::string port;                      // its end at the switch
    std::unique_ptr<ChildProcess> holder;  // null: this process
  };

  const Node& node_of(const std::string& name) const;
  static std::unique_ptr<ChildProcess> hold_network();
  static std::string space_of(const Node& node);
  std::vector<std::string> at_switch(std::vector<std::string> words) const;
  void add(const std::string& name, std::unique_ptr<ChildProcess> holder);

  Node switch_;
  std::map<std::string, Node> nodes_;
};

}  // namespace holdfast::test
