// A proxy with its ingress, an agent that echoes, and clients made of sockets, all on one loop.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/v1/resource.pb.h"
#include "ingress/ingress_service.h"
#include "support/child_process.h"
#include "support/temp_dir.h"
#include "tunnel_fleet.h"

namespace holdfast::ingress {

// A client's socket; closed with it.
class RawClient {
 public:
  explicit RawClient(const std::string& address);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // As much as the kernel takes; false if the connection is broken.
  bool send(std::string_view bytes);
  void finish();  // sends no more
  void close();
  // What has come since the connection opened.
  const std::string& received();
  bool over();  // the other side has ended or cut it

 private:
  int socket_ = -1;
  std::string received_;
  bool over_ = false;
};

class IngressFixture {
 public:
  // Service web (HTTP, port 80) carried by an agent that echoes, and db, carried by nobody. User
  // ann may connect to everything, bob to nothing, and eve is disabled.
  explicit IngressFixture(IngressOptions options = {});
  ~IngressFixture();

  std::string listen(const std::string& spec);
  std::string listen_public();
  void add_agent(const std::vector<std::string>& services);
  // Files of a user's certificate and key, and of whom to believe: for curl.
  std::vector<std::string> curl_identity(const std::string& user);
  // Runs the program while the loop runs: its exit code and what it printed.
  test::ProgramResult run(std::vector<std::string> arguments);
  bool until(const std::function<bool()>& condition, Duration patience = std::chrono::seconds(20));
  bool answers(RawClient& client, const std::string& text);
  // Of a counter's line, as "holdfast_x_total{code=\"HF2303\",listener=\"sni\"}"; 0 if absent.
  double counter(const std::string& line);

  metrics::Registry registry{{.version = "test"}};  // outlives the streams
  tunnel::TunnelFleet fleet;
  std::map<std::string, v1::Resource> services;
  std::map<std::string, v1::User> users;
  std::unique_ptr<IngressService> ingress;

 private:
  test::TempDir dir_;
  identity::SigningKey authority_;
  tunnel::TunnelFleet::Member& proxy_;
};

}  // namespace holdfast::ingress
