#include "integration/lrs_server.h"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <fstream>
#include <sstream>
#include <utility>

#include "base/check.h"
#include "support/eventually.h"
#include "support/free_ports.h"
#include "support/paths.h"

namespace holdfast::test {

LrsServer::LrsServer()
    : port_(free_ports(1).front()), address_(fmt::format("127.0.0.1:{}", port_)) {}

void LrsServer::start(std::vector<std::string> arguments) {
  arguments.insert(
      arguments.begin(),
      {"/usr/bin/python3", in_tree("tests/integration/lrs_server.py"), address_, dir_.file("log")});
  process_.emplace(ChildOptions{.arguments = std::move(arguments)});
  boost::asio::io_context io;
  boost::asio::ip::tcp::socket probe(io);
  const auto accepts = [&] {
    boost::system::error_code error;
    probe.close(error);
    probe.connect({boost::asio::ip::address_v4::loopback(), port_}, error);
    return !error;
  };
  HF_CHECK(eventually(accepts, std::chrono::seconds(60)), "the server listens");
}

void LrsServer::forget() const {
  const std::ofstream empty(dir_.file("log"));
}

std::vector<std::string> LrsServer::lines() const {
  std::ifstream file(dir_.file("log"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::set<std::string> LrsServer::nodes() const {
  std::set<std::string> found;
  for (const std::string& line : lines()) {
    std::istringstream in(line);
    std::string word;
    std::string id;
    in >> word >> id;
    if (word == "node") found.insert(id);
  }
  return found;
}

std::vector<LrsServer::Stats> LrsServer::stats() const {
  std::vector<Stats> found;
  for (const std::string& line : lines()) {
    Stats one;
    std::string word;
    std::istringstream in(line);
    in >> word >> one.cluster >> one.zone >> one.active >> one.opened >> one.failed >>
        one.milliseconds;
    if (word == "stats") found.push_back(one);
  }
  return found;
}

LrsServer::Stats LrsServer::sum(const std::string& cluster, const std::string& zone) const {
  Stats sum{.cluster = cluster, .zone = zone};
  for (const Stats& one : stats()) {
    if (one.cluster != cluster || one.zone != zone) continue;
    sum.active = one.active;
    sum.opened += one.opened;
    sum.failed += one.failed;
    sum.milliseconds += one.milliseconds;
  }
  return sum;
}

}  // namespace holdfast::test
