#include "servers.h"

#include <grpcpp/grpcpp.h>

#include "base/check.h"
#include "support/free_ports.h"

namespace holdfast::bench {

std::unique_ptr<Server> Server::etcd() {
  std::unique_ptr<Server> server(new Server());
  const std::vector<uint16_t> ports = test::free_ports(2);
  server->address_ = "127.0.0.1:" + std::to_string(ports[0]);
  const std::string client = "http://" + server->address_;
  const std::string peer = "http://127.0.0.1:" + std::to_string(ports[1]);
  server->process_ = std::make_unique<test::ChildProcess>(test::ChildOptions{
      .arguments = {"etcd", "--data-dir", server->dir_.file("etcd"), "--listen-client-urls", client,
                    "--advertise-client-urls", client, "--listen-peer-urls", peer,
                    "--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer},
      .output_file = server->dir_.file("log")});
  server->wait_until_it_answers();
  return server;
}

std::unique_ptr<Server> Server::holdfast() {
  std::unique_ptr<Server> server(new Server());
  server->address_ = "127.0.0.1:" + std::to_string(test::free_ports(1)[0]);
  server->process_ = std::make_unique<test::ChildProcess>(
      test::ChildOptions{.arguments = {HF_BIN_DIR "/holdfastd", "controller", "--data-dir",
                                       server->dir_.file("data"), "--listen", server->address_},
                         .output_file = server->dir_.file("log")});
  server->wait_until_it_answers();
  return server;
}

void Server::wait_until_it_answers() const {
  const auto channel = grpc::CreateChannel(address_, grpc::InsecureChannelCredentials());
  const auto deadline = std::chrono::system_clock::now() + std::chrono::seconds(30);
  HF_CHECK(channel->WaitForConnected(deadline), "the server listens within 30 s");
}

}  // namespace holdfast::bench
