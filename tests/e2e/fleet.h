// A controller and nodes that joined it with tokens, all of them real processes with short lives,
// and what can be seen of them from outside.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "e2e/controller_process.h"
#include "support/child_process.h"
#include "support/temp_dir.h"

namespace holdfast::test {

class Fleet {
 public:
  // Times are short; `settings` are further pairs for --set.
  explicit Fleet(const Arguments& settings = {});

  ControllerProcess& controller() { return controller_; }
  ProgramOutcome cli(const Arguments& arguments) { return controller_.cli(arguments); }

  // A node with a token of its own, and its daemon started. `role` is "agent" or "proxy"; `more` is
  // what its daemon is told besides.
  void add(const std::string& role, const std::string& name, const Arguments& more = {});
  // Three agents and a proxy: a-1, a-2, a-3, p-1.
  void add_usual();
  // Starts the daemon of a node that joined.
  void start(const std::string& name);
  ChildProcess& process(const std::string& name) { return *nodes_.at(name).process; }
  std::vector<std::string> names() const;

  std::string data_dir(const std::string& name) const { return folder_.file(name); }
  // Key and certificate of the node, as they are on disk.
  std::string identity(const std::string& name) const;
  std::string trusted(const std::string& name) const;
  std::string log(const std::string& name) const;

  // "online" or "offline" by "agent/a-1"; nothing for a node without an entry.
  std::map<std::string, std::string> presence();
  // Whether all that were added are online.
  bool all_online();
  // Lines of the audit that refuse something; empty is good.
  std::string refusals() const;
  // The pins that are trusted, the signing one first.
  std::vector<std::string> pins();

 private:
  struct Node {
    std::string role;
    Arguments more;
    std::unique_ptr<ChildProcess> process;
  };

  TempDir folder_;
  ControllerProcess controller_;
  std::map<std::string, Node> nodes_;
};

// Every change of every node while it lives, as `holdfast watch` prints it.
class PresenceWatch {
 public:
  explicit PresenceWatch(Fleet& fleet);
  // Changes that took a node offline or removed it; empty is good.
  std::string losses() const;
  size_t changes() const;

 private:
  std::string text() const;

  TempDir folder_;
  ChildProcess process_;
};

std::string read_text(const std::string& path);

}  // namespace holdfast::test
