#include "e2e/connect_fleet.h"

#include <fmt/format.h>

#include <fstream>

#include "base/check.h"
#include "e2e/fleet.h"
#include "support/eventually.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kServices =
    "kind: service\nmetadata: {name: web}\nspec: {ports: [{name: http, port: 80, protocol: "
    "http}]}\n"
    "---\n"
    "kind: service\nmetadata: {name: idle}\nspec: {ports: [{port: 80, protocol: tcp}]}\n";

Arguments port_command(const ConnectFleet& fleet, const std::string& user, Arguments arguments) {
  arguments.insert(arguments.begin(), "connect");
  return fleet.command(user, arguments);
}

}  // namespace

std::string page_request(const std::string& path) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: web\r\n\r\n", path);
}

ConnectFleet::ConnectFleet(int proxies) {
  fleet_.apply(kServices);
  for (int i = 1; i <= proxies; ++i) {
    fleet_.add_proxy(fmt::format("p-{}", i), "a", {}, {"--drain-timeout", "20s"});
  }
  fleet_.add_agent("a-1", "a", {fmt::format("web=127.0.0.1:{}", app_.port())});
  log_in("ann", "operator");
  log_in("bob", "viewer");
}

void ConnectFleet::log_in(const std::string& user, const std::string& role) {
  const std::string password = folder_.file("password");
  std::ofstream(password) << "correct horse\n";
  const ProgramOutcome made =
      fleet_.cli({"user", "create", user, "--role", role, "--password-file", password});
  HF_CHECK(made.exit_code == 0, made.error);
  const std::string status = fleet_.cli({"rotate", "status"}).output;
  const size_t pin = status.find("sha256:");
  HF_CHECK(pin != std::string::npos, status);
  const ProgramOutcome in =
      as(user, {"login", "--user", user, fleet_.controller().tcp_server(), "--pin",
                status.substr(pin, status.find('\n', pin) - pin), "--password-file", password});
  HF_CHECK(in.exit_code == 0, in.error);
}

Arguments ConnectFleet::command(const std::string& user, const Arguments& arguments) const {
  Arguments all = {built("holdfast"), "--profile", profile(user)};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

ProgramOutcome ConnectFleet::as(const std::string& user, const Arguments& arguments,
                                const std::string& input) {
  return run_program({.arguments = command(user, arguments), .input = input, .patience = 60s});
}

std::string ConnectFleet::public_address(const std::string& proxy) const {
  return fmt::format("127.0.0.1:{}", fleet_.ports(proxy).open);
}

bool ConnectFleet::reaches(const std::string& user, const std::string& proxy) {
  return eventually(
      [&] {
        return as(user, {"connect", "web", "--proxy", public_address(proxy)}, page_request("/x"))
                   .exit_code == 0;
      },
      30s);
}

std::string ConnectFleet::logs() const {
  std::string all;
  for (const char* role : {"proxy", "agent"}) {
    for (const std::string& name : fleet_.names(role)) all += fleet_.log(name);
  }
  return all;
}

ConnectPort::ConnectPort(const ConnectFleet& fleet, const std::string& user, Arguments arguments)
    : process_({.arguments = port_command(fleet, user, std::move(arguments)),
                .output_file = folder_.file("output"),
                .error_file = folder_.file("errors")}) {
  constexpr std::string_view kBefore = "listening on ";
  eventually(
      [&] {
        const std::string text = read_text(folder_.file("output"));
        if (text.starts_with(kBefore) && text.ends_with('\n')) {
          address_ = text.substr(kBefore.size(), text.size() - kBefore.size() - 1);
        }
        return !address_.empty();
      },
      10s);
}

std::string ConnectPort::errors() const {
  return read_text(folder_.file("errors"));
}

}  // namespace holdfast::test
