// Clients of a proxy: by port, by TLS name, and by CONNECT with curl; and what each is told when it
// cannot be served.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "ingress_fixture.h"
#include "support/paths.h"

namespace holdfast::ingress {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

std::string bytes_of(const char* file) {
  std::ifstream stream(std::string(test::in_tree("fuzz/corpus/client_hello/")) + file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class Ingress : public testing::Test {
 protected:
  // curl through the public port to a service.
  test::ProgramResult curl(const std::string& user, const std::string& url) {
    std::vector<std::string> arguments = {"curl", "-sS",
                                          "-m",   "3",
                                          "-p",   "--http0.9",
                                          "-w",   "<%{http_connect}>",
                                          "-x",   "https://" + public_,
                                          url};
    for (const std::string& each : fixture_.curl_identity(user)) arguments.push_back(each);
    return fixture_.run(std::move(arguments));
  }

  IngressFixture fixture_;
  const std::string public_ = fixture_.listen_public();
};

TEST_F(Ingress, APortLeadsToItsService) {
  fixture_.add_agent({"web"});
  RawClient client(fixture_.listen("tcp:127.0.0.1:0=web"));
  ASSERT_TRUE(client.send("hello"));
  EXPECT_TRUE(fixture_.answers(client, "hello"));
  EXPECT_EQ(fixture_.ingress->connection_count(), 1U);

  client.finish();

  EXPECT_TRUE(fixture_.until([&] { return client.over(); }));
  EXPECT_TRUE(fixture_.until([&] { return fixture_.ingress->connection_count() == 0; }));
  EXPECT_EQ(fixture_.counter("holdfast_ingress_carried_bytes_total{direction=\"to_client\"}"), 5);
  EXPECT_EQ(
      fixture_.counter("holdfast_ingress_ended_streams_total{how=\"ended\",listener=\"tcp\"}"), 1);
}

TEST_F(Ingress, AServiceOfHttpThatNobodyCarriesIsAnsweredFor) {
  RawClient client(fixture_.listen("tcp:127.0.0.1:0=db"));
  client.send("GET / HTTP/1.1\r\nHost: db\r\n\r\n");
  EXPECT_TRUE(fixture_.until([&] { return client.over(); }));
  EXPECT_THAT(client.received(), HasSubstr("HTTP/1.1 503 "));
  EXPECT_THAT(client.received(), HasSubstr("HF2202"));
  EXPECT_THAT(client.received(), HasSubstr("Connection: close"));
  EXPECT_EQ(fixture_.counter("holdfast_ingress_refusals_total{code=\"HF2202\",listener=\"tcp\"}"),
            1);
}

TEST_F(Ingress, AnotherServiceThatNobodyCarriesIsClosedWithoutAWord) {
  RawClient client(fixture_.listen("tcp:127.0.0.1:0=raw"));
  EXPECT_TRUE(fixture_.until([&] { return client.over(); }));
  EXPECT_EQ(client.received(), "");
}

TEST_F(Ingress, TheNameInTheHelloSaysWhichServiceAndTheHelloArrivesWhole) {
  fixture_.add_agent({"web"});
  const std::string address = fixture_.listen("sni:127.0.0.1:0=web,db");
  for (const char* file : {"tls12", "tls13", "split"}) {
    const std::string hello = bytes_of(file);  // of web.prod
    RawClient client(address);
    client.send(hello.substr(0, 7));
    client.send(hello.substr(7));
    EXPECT_TRUE(fixture_.until([&] { return client.received() == hello; })) << file;
    client.send("and more");
    EXPECT_TRUE(fixture_.until([&] { return client.received() == hello + "and more"; })) << file;
  }
}

TEST_F(Ingress, ANameThatIsNotServedIsToldSoByTls) {
  const std::string address = fixture_.listen("sni:127.0.0.1:0=db");
  const test::ProgramResult said =
      fixture_.run({"openssl", "s_client", "-connect", address, "-servername", "web.prod"});
  EXPECT_THAT(said.output, HasSubstr("unrecognized name"));
  EXPECT_EQ(fixture_.counter("holdfast_ingress_refusals_total{code=\"HF2301\",listener=\"sni\"}"),
            1);
}

TEST_F(Ingress, AUserWhoMayIsConnected) {
  fixture_.add_agent({"web"});
  // The agent echoes, so what curl gets is what it asked.
  EXPECT_THAT(curl("ann", "http://web/hello").output, HasSubstr("GET /hello HTTP/1.1"));
  EXPECT_THAT(curl("ann", "http://web.prod:80/named").output, HasSubstr("GET /named HTTP/1.1"));
}

TEST_F(Ingress, EachRefusalHasItsStatus) {
  EXPECT_THAT(curl("", "http://web/").output, HasSubstr("<407>"));
  EXPECT_THAT(curl("bob", "http://web/").output, HasSubstr("<403>"));
  EXPECT_THAT(curl("eve", "http://web/").output, HasSubstr("<407>"));
  EXPECT_THAT(curl("ann", "http://none/").output, HasSubstr("<404>"));
  EXPECT_THAT(curl("ann", "http://web:81/").output, HasSubstr("<404>"));
  EXPECT_THAT(curl("ann", "http://db/").output, HasSubstr("<503>"));
  for (const char* code : {"HF5002", "HF5001", "HF5012", "HF2201", "HF2304", "HF2202"}) {
    EXPECT_EQ(fixture_.counter(fmt::format(
                  "holdfast_ingress_refusals_total{{code=\"{}\",listener=\"public\"}}", code)),
              1)
        << code;
  }
}

TEST_F(Ingress, PagesGoToTheHandlerWithTheCaller) {
  std::vector<std::string> arguments = {
      "curl", "-sS", "-m", "5", "-d", "body", "https://" + public_ + "/v1/drain"};
  for (const std::string& each : fixture_.curl_identity("ann")) arguments.push_back(each);
  EXPECT_THAT(fixture_.run(arguments).output, HasSubstr("user/ann POST body"));
}

TEST_F(Ingress, WhenItStopsListeningWhoWaitsIsTakenAndWhoIsConnectedStays) {
  fixture_.add_agent({"web"});
  const std::string address = fixture_.listen("tcp:127.0.0.1:0=web");
  RawClient before(address);
  before.send("first");
  ASSERT_TRUE(fixture_.answers(before, "first"));
  RawClient waiting(address);  // in the backlog: the loop does not run
  waiting.send("second");

  fixture_.ingress->stop_listening();

  EXPECT_TRUE(fixture_.answers(waiting, "second"));
  before.send("third");
  EXPECT_TRUE(fixture_.answers(before, "third"));
  EXPECT_TRUE(RawClient(address).over()) << "nobody listens";
}

TEST_F(Ingress, WhoeverComesToThePublicPortLaterIsToldHowThingsGoAndNothingElse) {
  fixture_.add_agent({"web"});
  ASSERT_THAT(curl("ann", "http://web/").output, HasSubstr("<200>"));

  fixture_.ingress->stop_listening();

  EXPECT_THAT(curl("ann", "http://web/").output, HasSubstr("<503>"));
  EXPECT_EQ(
      fixture_.counter("holdfast_ingress_refusals_total{code=\"HF2315\",listener=\"public\"}"), 1);
  std::vector<std::string> arguments = {
      "curl", "-sS", "-m", "5", "-d", "body", "https://" + public_ + "/v1/drain"};
  for (const std::string& each : fixture_.curl_identity("ann")) arguments.push_back(each);
  EXPECT_THAT(fixture_.run(arguments).output, HasSubstr("user/ann POST body"));
  RawClient silent(public_);
  EXPECT_TRUE(fixture_.until([&] { return fixture_.ingress->connection_count() > 0; }));
  EXPECT_EQ(fixture_.ingress->waiting_count(), 0u) << "a drain does not wait for those";
}

TEST(IngressPorts, ASuccessorOnThePortGetsWhoComesLater) {
  IngressFixture first({.reuse_port = true});
  const std::string address = first.listen_public();

  first.ingress->stop_listening();

  EXPECT_TRUE(RawClient(address).over()) << "nobody listens";
}

TEST(IngressPorts, ASecondOneListensBesideTheFirstIfToldTo) {
  IngressFixture first({.reuse_port = true});
  IngressFixture second({.reuse_port = true});
  const std::string address = first.listen("tcp:127.0.0.1:0=web");
  EXPECT_EQ(second.listen("tcp:" + address + "=web"), address);
}

}  // namespace
}  // namespace holdfast::ingress
