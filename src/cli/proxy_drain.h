// holdfast proxy drain: takes a proxy out of service without cutting anybody off. Asks the proxy
// itself, at its public address with the user's certificate, or by its socket.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "cli/session.h"
#include "holdfast/v1/node.pb.h"

namespace holdfast::cli {

struct DrainOptions {
  std::string name{};     // of the proxy
  std::string address{};  // HOST:PORT; empty: as the controllers know it
  std::string node{};     // its socket or data folder, instead of all of that
  std::optional<Duration> timeout{};
  bool now = false;
  bool wait = true;
};
// Follows it until it has drained, and says how long that took and what was cut. HF2144 if the
// proxy ends before it has said.
Exit drain_proxy(const Console& console, const Connection& connection, const DrainOptions& options);

// "advising: 120 of 300 agents told to move, 180 tunnels and 12 connections left; cut in 4m50s".
std::string drain_text(const v1::DrainStatus& status, WallTime now);
// "proxy/edge-1 drained in 12s; 3 connections cut".
std::string drained_text(const v1::DrainStatus& status);

}  // namespace holdfast::cli
