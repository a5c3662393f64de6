// The ways from a client to the app that the tunnel benchmark compares, each of real processes on
// loopback: no tunnel at all, TLS 1.3 straight to the app (the limit), ssh -R, pairs of nginx and
// of haproxy with TLS 1.3 between them, and Holdfast.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/child_process.h"
#include "support/temp_dir.h"
#include "tunnel_app.h"
#include "tunnel_load.h"

namespace holdfast::bench {

struct Path {
  enum class Role { Direct, Limit, Peer, Ours };

  std::string name{};
  Role role = Role::Peer;
  Endpoint endpoint{};
  std::vector<pid_t> processes{};  // what carries the bytes, without its children

  // Of its processes and their children.
  double cpu_seconds() const;
  double memory_kb() const;
};

// The peers, up and carrying bytes; they go with it.
class Peers {
 public:
  Peers(const TunnelApp& app, const AppTls& tls);

  const std::vector<Path>& paths() const { return paths_; }

 private:
  void add(std::string name, uint16_t port, const std::vector<std::vector<std::string>>& commands);
  void add_ssh(const std::string& name, const std::vector<std::string>& options);
  void add_nginx();
  void add_haproxy();
  std::string write(const std::string& name, const std::string& text) const;

  uint16_t app_port_;
  AppTls tls_;
  test::TempDir folder_;
  std::vector<Path> paths_;
  std::vector<std::unique_ptr<test::ChildProcess>> processes_;
};

// Certificate and key of an ECDSA P-256 server, made with openssl.
AppTls make_certificate(const test::TempDir& folder);
// Waits until a byte comes back through it; aborts after 20 s.
void wait_until_it_carries(const Path& path);

}  // namespace holdfast::bench
