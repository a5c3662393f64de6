#include "e2e/tunnel_fleet.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "base/check.h"
#include "support/eventually.h"
#include "support/free_ports.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

Arguments tunnel_fleet_controller_arguments(const Arguments& settings) {
  Arguments arguments = {"--name", "ctl", "--http-listen", "", "--health-listen", ""};
  for (const std::string& pair : settings) arguments.insert(arguments.end(), {"--set", pair});
  return arguments;
}

std::string tunnel_fleet_on_loopback(uint16_t port) {
  return fmt::format("127.0.0.1:{}", port);
}

}  // namespace

TunnelFleet::TunnelFleet(const Arguments& settings)
    : controller_(tunnel_fleet_controller_arguments(settings)) {
  const ProgramOutcome made = cli({"init", "--cluster", "prod"});
  HF_CHECK(made.exit_code == 0, made.error);
  std::istringstream words(made.output);
  for (std::string word; words >> word;) {
    if (word.starts_with("sha256:")) pin_ = word;
  }
  HF_CHECK(!pin_.empty(), "init prints a pin");
}

void TunnelFleet::apply(const std::string& yaml) {
  const ProgramOutcome applied = cli({"apply", "-f", "-"}, yaml);
  HF_CHECK(applied.exit_code == 0, applied.error);
}

void TunnelFleet::join(const std::string& role, const std::string& name, const std::string& zone) {
  const ProgramOutcome token =
      cli({"token", "create", "--role", role, "--name", name, "--zone", zone});
  HF_CHECK(token.exit_code == 0, token.error);
  const Arguments arguments = {
      built("holdfast"), "--profile", folder_.file("profile"), "join", "--name",     name,
      "--zone",          zone,        "--token-file",          "-",    "--data-dir", data_dir(name),
      "--pin",           pin_,        controller_.tcp_server()};
  ProgramOutcome joined;
  // Listeners over TLS open once there is an authority.
  const bool in_time = eventually(
      [&] {
        joined = run_program({.arguments = arguments, .input = token.output});
        return joined.exit_code == 0;
      },
      10s);
  HF_CHECK(in_time, joined.error);
}

void TunnelFleet::add_proxy(const std::string& name, const std::string& zone,
                            const std::vector<std::string>& services, const Arguments& more) {
  join("proxy", name, zone);
  const std::vector<uint16_t> ports = free_ports(3 + services.size());
  Node& node = nodes_[name];
  node.role = "proxy";
  node.ports = {.tunnel = ports[0],
                .peer = ports[1],
                .open = ports[2],
                .ingress = {ports.begin() + 3, ports.end()}};
  node.arguments = {"--tunnel-listen",  tunnel_fleet_on_loopback(ports[0]),
                    "--peer-listen",    tunnel_fleet_on_loopback(ports[1]),
                    "--public-listen",  tunnel_fleet_on_loopback(ports[2]),
                    "--advertise-host", "127.0.0.1"};
  for (size_t i = 0; i < services.size(); ++i) {
    const std::string spec =
        fmt::format("tcp:{}={}", tunnel_fleet_on_loopback(ports[3 + i]), services[i]);
    node.arguments.insert(node.arguments.end(), {"--ingress", spec});
  }
  node.arguments.insert(node.arguments.end(), more.begin(), more.end());
  start(name);
}

void TunnelFleet::add_agent(const std::string& name, const std::string& zone,
                            const std::vector<std::string>& services, const Arguments& more) {
  join("agent", name, zone);
  Node& node = nodes_[name];
  node.role = "agent";
  for (const std::string& service : services)
    node.arguments.insert(node.arguments.end(), {"--service", service});
  node.arguments.insert(node.arguments.end(), more.begin(), more.end());
  start(name);
}

void TunnelFleet::start(const std::string& name, const Arguments& more) {
  Node& node = nodes_.at(name);
  Arguments arguments = {built("holdfastd"), node.role, "--data-dir", data_dir(name)};
  arguments.insert(arguments.end(), node.arguments.begin(), node.arguments.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  node.process = std::make_unique<ChildProcess>(
      ChildOptions{.arguments = std::move(arguments), .output_file = folder_.file(name + ".log")});
}

std::unique_ptr<ChildProcess> TunnelFleet::release(const std::string& name) {
  return std::move(nodes_.at(name).process);
}

std::vector<std::string> TunnelFleet::names(const std::string& role) const {
  std::vector<std::string> found;
  for (const auto& [name, node] : nodes_) {
    if (node.role == role) found.push_back(name);
  }
  return found;
}

std::string TunnelFleet::log(const std::string& name) const {
  std::ifstream file(folder_.file(name + ".log"));
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace holdfast::test
