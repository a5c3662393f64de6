#include "app/daemon_config.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "app/paths.h"
#include "base/reason.h"
#include "config/file_loader.h"

namespace holdfast::app {
namespace {

struct Flag {
  const char* name;
  const char* key;
  const char* help;
};
constexpr Flag kFlags[] = {
    {"--data-dir", "controller.data_dir", "where the store, the audit log and the socket live"},
    {"--name", "controller.name", "name of this controller"},
    {"--http-listen", "controller.http.listen", "address of the HTTPS API; \"\" turns it off"},
    {"--health-listen", "controller.http.health_listen",
     "plain address for health and metrics only; \"\" turns it off"},
    {"--store", "store.type", "sqlite, etcd, or memory (nothing is kept)"},
    {"--etcd-ca", "store.etcd.ca", "PEM file of etcd's CA; turns TLS on"},
    {"--etcd-cert", "store.etcd.certificate", "PEM file to identify with"},
    {"--etcd-key", "store.etcd.key", "PEM file of its private key"},
    {"--etcd-user", "store.etcd.username", "etcd user"},
    {"--etcd-password-file", "store.etcd.password_file", "file that holds the user's password"},
};
constexpr Flag kLists[] = {
    {"--listen", "controller.listen", "address of the API with TLS, as 0.0.0.0:7443; may repeat"},
    {"--host", "controller.hosts", "name or address in the certificate; may repeat"},
    {"--etcd-endpoint", "store.etcd.endpoints", "HOST:PORT of a member; may repeat"},
};

}  // namespace

void DaemonConfig::add_options(CLI::App& daemon, CLI::App& controller) {
  daemon.add_option("-c,--config", file_,
                    fmt::format("configuration file; {} if it is there", config::kDefaultFile));
  daemon.add_option("--log-level", flags_["log.level"], "debug, info, warn or error");
  for (const Flag& flag : kFlags) controller.add_option(flag.name, flags_[flag.key], flag.help);
  for (const Flag& flag : kLists) {
    controller.add_option(flag.name, lists_[flag.key], flag.help)->delimiter(',');
  }
  controller.add_option("--set", set_,
                        "any key of the configuration, as health.recovery_window=5s; may repeat");
  controller.footer(
      "Every option is a key of the configuration file and a HOLDFAST_ variable too; flags win\n"
      "over variables, these over the file. See them all: holdfast config show --source");
}

Result<config::Loaded> DaemonConfig::load() const {
  config::Gathering gathering{.file = file_, .default_data_dir = default_data_dir(), .flags = {}};
  for (const auto& [key, value] : flags_) {
    if (value) gathering.flags[key] = *value;
  }
  for (const auto& [key, values] : lists_) {
    if (!values.empty()) gathering.flags[key] = fmt::format("{}", fmt::join(values, ","));
  }
  for (const std::string& pair : set_) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos) {
      return coded(absl::StatusCode::kInvalidArgument, "HF6010",
                   fmt::format("--set {}: use KEY=VALUE", pair));
    }
    gathering.flags[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  TRY(const config::Sources sources, config::gather(std::move(gathering)));
  return config::load(sources);
}

}  // namespace holdfast::app
