#include "cli/proxy_drain.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "base/reason.h"
#include "cli/listing.h"
#include "cli/node_socket.h"
#include "cli/output.h"
#include "cli/profile.h"
#include "cli/reasons.h"
#include "cli/times.h"
#include "identity/certificate.h"
#include "resource/registry.h"

namespace holdfast::cli {
namespace {

constexpr Duration kDrainPoll = std::chrono::milliseconds(500);
constexpr int kMostMisses = 6;

WallTime drain_now() {
  return SystemClock().wall_now();
}

Failure drain_failure(Exit exit, std::string_view code, std::string message) {
  const ReasonInfo* reason = find_reason(code);
  return {exit, std::string(code), std::move(message),
          reason == nullptr ? "" : std::string(reason->next)};
}

std::string plural(uint32_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string request_body(const DrainOptions& options) {
  std::string timeout;
  if (options.timeout) {
    timeout = fmt::format(
        "\"timeout\":\"{}ms\",",
        std::chrono::duration_cast<std::chrono::milliseconds>(*options.timeout).count());
  }
  return fmt::format("{{{}\"now\":{}}}", timeout, options.now);
}

// Where a proxy is, by what the controllers know.
std::expected<std::string, Failure> find_address(const Connection& connection,
                                                 const std::string& name) {
  auto found = find_controller(connection);
  if (!found) return std::unexpected(found.error());
  Client client(*std::move(found));
  Result<std::vector<v1::Resource>> proxy = std::vector<v1::Resource>();
  if (const Status connected = client.connect(); !connected.ok()) proxy = connected;
  if (proxy.ok()) proxy = fetch_named(client, resource::Kind::Proxy, {name});
  if (!proxy.ok()) return std::unexpected(explain(proxy.status(), client.asked()));
  const std::string& address = proxy->front().proxy().public_address();
  if (!address.empty()) return address;
  return std::unexpected(drain_failure(
      Exit::BadInput, "HF2142",
      fmt::format("proxy {} has no public address; use --node on its machine", name)));
}

class Draining {
 public:
  Draining(const Console& console, const DrainOptions& options, net::HttpClientOptions http)
      : console_(console), options_(options), http_(std::move(http)) {}

  Exit run() {
    // A drain cannot be undone: whoever answers must be the one that was meant.
    if (const Status known_by = ask({.target = "/v1/drain"}); !known_by.ok()) {
      return failed(known_by);
    }
    if (status_.node() != "proxy/" + options_.name) {
      return console_.report(
          drain_failure(Exit::BadInput, "HF2146",
                        fmt::format("it is {} that answers, not proxy/{}; nothing was "
                                    "done",
                                    status_.node(), options_.name)));
    }
    const Status asked = ask({.method = "POST",
                              .target = "/v1/drain",
                              .headers = {{"Content-Type", "application/json"}},
                              .body = request_body(options_)});
    if (!asked.ok()) return failed(asked);
    if (!options_.wait) {
      const std::string text = drain_text(status_, drain_now());
      print_out((options_.now ? text.substr(0, text.find(';')) + "; cut now" : text) + "\n");
      return Exit::Ok;
    }
    return follow();
  }

 private:
  Exit follow() {
    std::string shown;
    const std::string node = status_.node();
    for (int misses = 0; status_.phase() != "closed";) {
      const std::string text = drain_text(status_, drain_now());
      std::string what = text.substr(0, text.find(';'));  // the rest changes by itself
      // Told to cut now it does so at once, whatever time it had before.
      if (what != shown) print_err((options_.now ? what + "; cut now" : text) + "\n");
      shown = std::move(what);
      std::this_thread::sleep_for(kDrainPoll);
      const v1::DrainStatus before = status_;
      const Status asked = ask({.target = "/v1/drain"});
      // A successor may have the port.
      const bool same = asked.ok() && status_.node() == node && status_.phase() != "running";
      const bool gone = asked.ok() ? !same : split_reason(asked).code.empty();
      if (!gone && !asked.ok()) return failed(asked);
      misses = gone ? misses + 1 : 0;
      if (gone) status_ = before;
      if (misses == kMostMisses) return unknown(node, text);
    }
    print_out(drained_text(status_) + "\n");
    return Exit::Ok;
  }

  // It has ended, or is cut off.
  Exit unknown(const std::string& node, const std::string& last) const {
    return console_.report(drain_failure(
        Exit::NoController, "HF2144",
        fmt::format("{} no longer says how its drain goes; last it was {}", node, last)));
  }

  Status ask(const net::HttpCall& call) {
    TRY(const net::HttpAnswer answer, ask_http(http_, call));
    v1::DrainStatus status;
    TRY_OK(read_answer(answer, status));
    status_ = std::move(status);
    return absl::OkStatus();
  }

  Exit failed(const Status& status) const {
    const Reason reason = split_reason(status);
    if (reason.code.empty()) return console_.report(no_node(status));
    const Exit exit = absl::IsPermissionDenied(status) || absl::IsUnauthenticated(status)
                          ? Exit::NotPermitted
                          : Exit::BadInput;
    return console_.report(drain_failure(exit, reason.code, std::string(reason.message)));
  }

  const Console& console_;
  const DrainOptions& options_;
  net::HttpClientOptions http_;
  v1::DrainStatus status_;
};

}  // namespace

std::string drain_text(const v1::DrainStatus& status, WallTime now) {
  if (status.phase() == "running") return fmt::format("{} is not draining", status.node());
  return fmt::format("{}: {} told to move, {} and {} left; cut {}", status.phase(),
                     plural(status.advised(), "agent"), plural(status.tunnels(), "tunnel"),
                     plural(status.streams(), "connection"),
                     relative(to_wall(status.deadline()), now));
}

std::string drained_text(const v1::DrainStatus& status) {
  return fmt::format(
      "{} drained in {}; {}", status.node(),
      age(to_wall(status.since()), to_wall(status.deadline())),
      status.cut() == 0 ? "nothing was cut" : plural(status.cut(), "connection") + " cut");
}

Exit drain_proxy(const Console& console, const Connection& connection,
                 const DrainOptions& options) {
  if (!options.node.empty()) {
    return Draining(console, options,
                    {.addresses = {socket_of(options.node)}, .timeout = connection.timeout})
        .run();
  }
  std::string address = options.address;
  if (address.empty()) {
    auto found = find_address(connection, options.name);
    if (!found) return console.report(found.error());
    address = *std::move(found);
  }
  const Result<Profile> profile = load_profile(connection.profile_dir);
  if (!profile.ok()) {
    return console.report(
        drain_failure(Exit::BadProfile, "HF5035",
                      "a proxy asks for a user's certificate, and there is none; use "
                      "--node on its machine, or log in"));
  }
  auto tls = net::TlsContext::make_client({.ca_pem = profile->ca_pem,
                                           .certificate_pem = profile->certificate_pem,
                                           .private_key_pem = profile->private_key_pem,
                                           .server_name = std::string(identity::kProxyServerName)});
  if (!tls.ok()) {
    return console.report(
        drain_failure(Exit::BadProfile, "HF5036", std::string(tls.status().message())));
  }
  return Draining(console, options,
                  {.addresses = {address}, .tls = *std::move(tls), .timeout = connection.timeout})
      .run();
}

}  // namespace holdfast::cli
