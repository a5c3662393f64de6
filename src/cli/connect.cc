#include "cli/connect.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <optional>

#include "base/bytes.h"
#include "base/check.h"
#include "base/private_file.h"
#include "base/reason.h"
#include "cli/byte_copy.h"
#include "cli/listing.h"
#include "cli/local_port.h"
#include "cli/output.h"
#include "cli/profile.h"
#include "cli/reasons.h"
#include "identity/certificate.h"
#include "resource/text_rules.h"

namespace holdfast::cli {
namespace {

constexpr Duration kMaxListTime = std::chrono::seconds(3);

Failure connect_usage(std::string message) {
  return {Exit::Usage, "HF6010", std::move(message), "see `holdfast connect --help`"};
}

Failure known(Exit exit, std::string_view code, std::string message) {
  return {exit, std::string(code), std::move(message), std::string(find_reason(code)->next)};
}

std::string memory_path(const std::string& profile_dir) {
  return profile_dir + "/proxies";
}

ProxyList remembered(const std::string& profile_dir) {
  return parse_proxies(read_small_file(memory_path(profile_dir)).value_or(""));
}

// As the controllers know them now.
Result<ProxyList> listed(const Connection& connection) {
  Connection quick = connection;
  quick.timeout = std::min(connection.timeout, kMaxListTime);
  const auto options = find_controller(quick);
  if (!options) return absl::UnavailableError(options.error().message);
  Client client(*options);
  TRY(const std::vector<v1::Resource> proxies, fetch_all(client, resource::Kind::Proxy, {}));
  ProxyList usable = usable_proxies(proxies);
  if (usable.empty()) return absl::NotFoundError("no proxy that is online has a public address");
  return usable;
}

// Those that were named; else those there are, the one that worked last before the others; else
// those there were.
Result<ProxyList> find_proxies(const Connection& connection, const ConnectOptions& options) {
  if (!options.proxies.empty()) return options.proxies;
  const ProxyList before = remembered(connection.profile_dir);
  Result<ProxyList> now = listed(connection);
  if (!now.ok()) return before.empty() ? now : before;
  if (!before.empty()) put_first(*now, before.front());
  return now;
}

Failure no_proxy(const Status& why) {
  const bool may_not = absl::IsPermissionDenied(why);
  return known(Exit::NoController, "HF2310",
               fmt::format("no proxy is known: {}", may_not ? "your roles do not list proxies"
                                                            : std::string(why.message())));
}

std::expected<Profile, Failure> load_identity(const Connection& connection) {
  const std::string& folder = connection.profile_dir;
  Result<Profile> profile = load_profile(folder);
  if (profile.ok()) return *std::move(profile);
  if (!absl::IsNotFound(profile.status())) {
    return std::unexpected(
        known(Exit::BadProfile, "HF5036", std::string(profile.status().message())));
  }
  return std::unexpected(known(
      Exit::BadProfile, "HF5035",
      fmt::format("proxies ask for a certificate, and {} holds none", in_quotes(folder, 256))));
}

// Who we are, read again whenever it is needed: `holdfast login` beside us is noticed.
class Login {
 public:
  explicit Login(const Connection& connection) : connection_(connection) {}

  std::expected<std::shared_ptr<const net::TlsContext>, Failure> tls() {
    const auto profile = load_identity(connection_);
    if (!profile) return std::unexpected(profile.error());
    std::string pems = profile->ca_pem + profile->certificate_pem;
    if (tls_ != nullptr && pems == pems_) return tls_;
    auto made =
        net::TlsContext::make_client({.ca_pem = profile->ca_pem,
                                      .certificate_pem = profile->certificate_pem,
                                      .private_key_pem = profile->private_key_pem,
                                      .server_name = std::string(identity::kProxyServerName)});
    if (!made.ok()) {
      return std::unexpected(
          known(Exit::BadProfile, "HF5036", std::string(made.status().message())));
    }
    tls_ = *std::move(made);
    pems_ = std::move(pems);
    return tls_;
  }

 private:
  const Connection& connection_;
  std::shared_ptr<const net::TlsContext> tls_;
  std::string pems_;
};

Failure failure_of(const Status& status) {
  const Reason reason = split_reason(status);
  const bool nobody = reason.code == "HF2310" || reason.code == "HF2311";
  if (nobody) return known(Exit::NoController, reason.code, std::string(reason.message));
  return explain(status, {.server = "the proxy", .answered = true});
}

template <typename T>
T run_on(asio::io_context& loop, asio::awaitable<T> task) {
  std::optional<T> result;
  asio::co_spawn(loop, std::move(task), [&](const std::exception_ptr& thrown, T value) {
    HF_CHECK(thrown == nullptr, "a task returns its failures");
    result = std::move(value);
    loop.stop();
  });
  loop.run();
  HF_CHECK(result.has_value(), "the loop runs until the task is done");
  return *std::move(result);
}

asio::awaitable<Status> carry_standard(ProxyRoute& route, WantedService wanted,
                                       std::function<void()> on_open) {
  CO_TRY(const auto service, co_await route.open(std::move(wanted)));
  on_open();
  const auto here = standard_streams(co_await asio::this_coro::executor);
  co_return co_await join_streams(*here, *service, Until::ServiceEnds);
}

asio::awaitable<bool> serve(LocalPort& port) {
  co_await port.run();
  co_return true;
}

Exit serve_port(const Console& console, ProxyRoute& route, const ConnectOptions& options,
                std::optional<WantedService> wanted) {
  asio::io_context loop(1);
  const std::string& address = wanted ? options.listen : options.socks;
  LocalPort port(loop.get_executor(), route,
                 {.address = address,
                  .wanted = std::move(wanted),
                  .on_failure = [&](const Status& why) { console.report(failure_of(why)); }});
  const Result<std::string> bound = port.listen();
  if (!bound.ok())
    return console.report(explain(bound.status(), {.server = address, .answered = true}));
  print_out(fmt::format("listening on {}\n", *bound));
  flush_output();
  run_on(loop, serve(port));
  return Exit::Ok;
}

std::optional<Failure> wrong_listener(const ConnectOptions& options) {
  const std::string& address = options.listen.empty() ? options.socks : options.listen;
  if (address.empty()) return std::nullopt;
  const auto endpoint = local_endpoint(address);
  if (!endpoint.ok()) return connect_usage(std::string(split_reason(endpoint.status()).message));
  if (endpoint->address().is_loopback() || options.allow_remote) return std::nullopt;
  return known(Exit::Usage, "HF2316",
               fmt::format("{} is reached from other machines, and whoever reaches it would use "
                           "services in your name",
                           in_quotes(address)));
}

std::optional<Failure> wrong_target(const ConnectOptions& options) {
  if (!options.listen.empty() && !options.socks.empty()) {
    return connect_usage("--listen is for one service, --socks for all; use one of them");
  }
  if (options.socks.empty() && options.target.empty()) return connect_usage("name a service");
  if (!options.socks.empty() && !options.target.empty()) {
    return connect_usage("with --socks each connection names its service; leave SERVICE out");
  }
  for (const std::string& proxy : options.proxies) {
    if (const auto problem = resource::wrong_address(proxy)) {
      return connect_usage(fmt::format("--proxy {}: {}", in_quotes(proxy), *problem));
    }
  }
  return wrong_listener(options);
}

}  // namespace

std::expected<WantedService, Failure> parse_wanted(std::string_view target) {
  const size_t colon = target.find(':');
  WantedService wanted{.service = std::string(target.substr(0, colon))};
  if (colon != std::string_view::npos) wanted.port = std::string(target.substr(colon + 1));
  const bool port_missing = colon != std::string_view::npos && wanted.port.empty();
  if (port_missing || resource::wrong_name(wanted.service) ||
      (!wanted.port.empty() && resource::wrong_name(wanted.port))) {
    return std::unexpected(connect_usage(
        fmt::format("{} is no service; use SERVICE or SERVICE:PORT", in_quotes(target))));
  }
  return wanted;
}

Exit connect(const Console& console, const Connection& connection, const ConnectOptions& options) {
  if (const auto failure = wrong_target(options)) return console.report(*failure);
  std::optional<WantedService> wanted;
  if (options.socks.empty()) {
    auto parsed = parse_wanted(options.target);
    if (!parsed) return console.report(parsed.error());
    wanted = *std::move(parsed);
  }
  Login login(connection);
  const auto tls = login.tls();
  if (!tls) return console.report(tls.error());
  Result<ProxyList> proxies = find_proxies(connection, options);
  if (!proxies.ok()) return console.report(no_proxy(proxies.status()));
  ProxyRoute route({.proxies = *std::move(proxies),
                    .tls = [&]() -> Result<std::shared_ptr<const net::TlsContext>> {
                      const auto now = login.tls();
                      if (now) return *now;
                      return coded(absl::StatusCode::kUnauthenticated, now.error().code,
                                   now.error().message);
                    },
                    .answer_timeout = connection.timeout + std::chrono::seconds(2)});
  const auto remember = [&] {
    if (!options.proxies.empty()) return;
    const Status ignored = write_private_file(memory_path(connection.profile_dir),
                                              to_text(route.proxies()));  // only a memory
  };
  if (!options.listen.empty() || !options.socks.empty()) {
    remember();
    return serve_port(console, route, options, std::move(wanted));
  }
  asio::io_context loop(1);
  const Status done = run_on(loop, carry_standard(route, *std::move(wanted), remember));
  return done.ok() ? Exit::Ok : console.report(failure_of(done));
}

}  // namespace holdfast::cli
