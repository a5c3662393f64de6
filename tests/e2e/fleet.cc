#include "e2e/fleet.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/check.h"
#include "support/eventually.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

Arguments controller_arguments(const Arguments& settings) {
  Arguments arguments = {"--name", "ctl", "--http-listen", "", "--health-listen", ""};
  for (const char* pair :
       {"presence.agent_ttl=4s", "presence.agent_max_ttl=4s", "presence.proxy_ttl=4s"}) {
    arguments.insert(arguments.end(), {"--set", pair});
  }
  for (const std::string& pair : settings) arguments.insert(arguments.end(), {"--set", pair});
  return arguments;
}

std::vector<std::string> lines_with(const std::string& text, std::string_view word) {
  std::istringstream stream(text);
  std::vector<std::string> found;
  for (std::string line; std::getline(stream, line);) {
    if (line.contains(word)) found.push_back(line);
  }
  return found;
}

}  // namespace

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

Fleet::Fleet(const Arguments& settings) : controller_(controller_arguments(settings)) {
  const ProgramOutcome made = cli({"init", "--cluster", "prod"});
  HF_CHECK(made.exit_code == 0, made.error);
}

void Fleet::add(const std::string& role, const std::string& name, const Arguments& more) {
  const ProgramOutcome token = cli({"token", "create", "--role", role, "--name", name});
  ASSERT_EQ(token.exit_code, 0) << token.error;
  const Arguments join = {built("holdfast"),
                          "--profile",
                          folder_.file("profile"),
                          "join",
                          "--name",
                          name,
                          "--token-file",
                          "-",
                          "--data-dir",
                          data_dir(name),
                          "--pin",
                          pins().front(),
                          controller_.tcp_server()};
  ProgramOutcome joined;
  // Listeners over TLS open once there is an authority.
  const bool in_time = eventually(
      [&] {
        joined = run_program({.arguments = join, .input = token.output});
        return joined.exit_code == 0;
      },
      10s);
  ASSERT_TRUE(in_time) << joined.error;
  nodes_[name].role = role;
  nodes_[name].more = more;
  start(name);
}

void Fleet::add_usual() {
  for (const char* name : {"a-1", "a-2", "a-3"}) add("agent", name);
  add("proxy", "p-1");
  ASSERT_TRUE(eventually([&] { return all_online(); }, 10s)) << log("a-1") << log("p-1");
}

void Fleet::start(const std::string& name) {
  Node& node = nodes_.at(name);
  Arguments command = node_command(node.role, data_dir(name));
  command.insert(command.end(), node.more.begin(), node.more.end());
  node.process = std::make_unique<ChildProcess>(
      ChildOptions{.arguments = command, .output_file = folder_.file(name + ".log")});
}

std::vector<std::string> Fleet::names() const {
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_) names.push_back(name);
  return names;
}

std::string Fleet::identity(const std::string& name) const {
  return read_text(data_dir(name) + "/identity/identity.pem");
}

std::string Fleet::trusted(const std::string& name) const {
  return read_text(data_dir(name) + "/identity/ca.pem");
}

std::string Fleet::log(const std::string& name) const {
  return read_text(folder_.file(name + ".log"));
}

std::map<std::string, std::string> Fleet::presence() {
  std::map<std::string, std::string> states;
  for (const char* kind : {"agent", "proxy"}) {
    std::istringstream table(cli({"get", kind}).output);
    std::string line;
    std::getline(table, line);  // the head
    while (std::getline(table, line)) {
      std::istringstream cells(line);
      std::string name;
      std::string state;
      cells >> name >> state;
      // Who is degraded, drains, or is late on a busy machine is there all the same, until the
      // controllers say otherwise.
      if (state != "offline" && state != "never") state = "online";
      states[fmt::format("{}/{}", kind, name)] = state;
    }
  }
  return states;
}

bool Fleet::all_online() {
  const std::map<std::string, std::string> states = presence();
  return std::ranges::all_of(nodes_, [&](const auto& node) {
    const auto found = states.find(node.second.role + "/" + node.first);
    return found != states.end() && found->second == "online";
  });
}

std::string Fleet::refusals() const {
  const std::string audit = read_text(controller_.data_dir() + "/audit.log");
  HF_CHECK(audit.contains("\"verb\":\"join\""), "the audit is where it is looked for");
  return fmt::format("{}", fmt::join(lines_with(audit, "\"allowed\":false"), "\n"));
}

std::vector<std::string> Fleet::pins() {
  std::istringstream text(cli({"rotate", "status"}).output);
  std::vector<std::string> pins;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("pin ")) pins.push_back(line.substr(line.find("sha256:")));
  }
  HF_CHECK(!pins.empty(), "an authority has a pin");
  return pins;
}

PresenceWatch::PresenceWatch(Fleet& fleet)
    : process_({.arguments = {built("holdfast"), "--server", fleet.controller().unix_server(),
                              "watch", "agents", "proxies", "-o", "json"},
                .output_file = folder_.file("events"),
                .error_file = folder_.file("errors")}) {
  const bool begun = eventually([&] { return changes() > 0; }, 10s);
  HF_CHECK(begun, "heartbeats are seen");
}

std::string PresenceWatch::text() const {
  return read_text(folder_.file("events"));
}

std::string PresenceWatch::losses() const {
  const std::string all = text();
  std::vector<std::string> found = lines_with(all, "offline_since");
  for (std::string& line : lines_with(all, "\"type\":\"delete\"")) found.push_back(std::move(line));
  return fmt::format("{}", fmt::join(found, "\n"));
}

size_t PresenceWatch::changes() const {
  return lines_with(text(), "\"revision\"").size();
}

}  // namespace holdfast::test
