// Bytes that are no UTF-8, in every text of every request there is: an error each time, and the
// next caller notices nothing.
#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ranges>

#include "e2e/abuse/abuse_fixture.h"
#include "grpc/health/v1/health.pb.h"
#include "holdfast/v1/identity.pb.h"
#include "holdfast/v1/node.pb.h"
#include "support/http_client.h"

namespace holdfast::test {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;
using Path = std::vector<const FieldDescriptor*>;

// Not UTF-8: a byte that never is, a surrogate, an overlong slash, half a character.
const std::string kBadTexts[] = {"\xff", "a\xed\xa0\x80z", "\xc0\xaf", "caf\xc3"};

// Calls `found` with the way to every text in a message, also in lists and maps. A message within
// itself is entered once.
template <typename Found>
void each_text(const Descriptor& message, Path& path, const Found& found) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor* field = message.field(i);
    path.push_back(field);
    if (field->type() == FieldDescriptor::TYPE_STRING) found(path);
    const Descriptor* inner = field->message_type();
    const bool known = std::ranges::any_of(
        path, [&](const FieldDescriptor* outer) { return outer->containing_type() == inner; });
    if (inner != nullptr && !known) each_text(*inner, path, found);
    path.pop_back();
  }
}

std::string varint(size_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

// The message in which only this field is set.
std::string encoded(const Path& path, std::string text) {
  constexpr size_t kLengthDelimited = 2;
  for (const FieldDescriptor* field : path | std::views::reverse) {
    const auto number = static_cast<size_t>(field->number());
    text = varint(number << 3 | kLengthDelimited) + varint(text.size()) + text;
  }
  return text;
}

std::string name_of(const MethodDescriptor& method, const Path& path) {
  std::string name = method.full_name();
  for (const FieldDescriptor* field : path) name += "." + field->name();
  return name;
}

class AbusiveText : public Abuse {
 protected:
  grpc::Status call(const MethodDescriptor& method, const std::string& bytes) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
    grpc::CompletionQueue queue;
    const std::string path = "/" + method.service()->full_name() + "/" + method.name();
    const auto stream = stub_.PrepareCall(&context, path, &queue);
    void* tag = nullptr;
    bool ok = false;
    stream->StartCall(nullptr);
    queue.Next(&tag, &ok);
    const grpc::Slice slice(bytes);
    stream->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
    queue.Next(&tag, &ok);
    grpc::Status status;
    stream->Finish(&status, nullptr);
    queue.Next(&tag, &ok);
    return status;
  }
  // How many texts the requests of these services have; tries them all.
  size_t try_all(const FileDescriptor& file) {
    size_t count = 0;
    for (int s = 0; s < file.service_count(); ++s) {
      for (int m = 0; m < file.service(s)->method_count(); ++m) {
        const MethodDescriptor& method = *file.service(s)->method(m);
        Path path;
        each_text(*method.input_type(), path, [&](const Path& text) {
          expect_refusal(method, text, kBadTexts[count % std::size(kBadTexts)]);
          count += 1;
        });
      }
    }
    return count;
  }
  void expect_refusal(const MethodDescriptor& method, const Path& path, const std::string& text) {
    const grpc::Status status = call(method, encoded(path, text));
    // Where gRPC itself reads the message, its word for bytes that are none is UNIMPLEMENTED.
    const bool refused = status.error_code() == grpc::StatusCode::INVALID_ARGUMENT ||
                         status.error_code() == grpc::StatusCode::UNIMPLEMENTED;
    EXPECT_TRUE(refused) << name_of(method, path) << ": " << status.error_code() << " "
                         << status.error_message();
    ASSERT_TRUE(controller_.running()) << name_of(method, path) << "\n" << controller_.log();
  }

  ApiClient client_{controller_.tcp_server(), controller_.admin()};
  grpc::GenericStub stub_{client_.channel()};
};

TEST_F(AbusiveText, InEveryFieldOfEveryRequestIsRefused) {
  EXPECT_GT(try_all(*v1::GetRequest::descriptor()->file()), 100U);
  EXPECT_GT(try_all(*v1::JoinRequest::descriptor()->file()), 15U);
  EXPECT_GT(try_all(*v1::AnnounceRequest::descriptor()->file()), 30U);
  EXPECT_EQ(try_all(*grpc::health::v1::HealthCheckRequest::descriptor()->file()), 2U);

  expect_others_are_served();
}

TEST_F(AbusiveText, OverHttpsIsRefusedInTheBodyThePathTheQueryAndTheHeaders) {
  const TestCertificate own = admin_certificate();
  const std::string refused = "holdfast_http_requests_total{code=\"400\"}";
  const double before = metric(refused);
  int asked = 0;
  for (const std::string& bad : kBadTexts) {
    const std::string body = R"({"kind":"service","metadata":{"name":"web","description":")" + bad +
                             R"("},"spec":{"ports":[{"port":80,"protocol":"tcp"}]}})";
    std::string escaped;
    for (const char byte : bad) escaped += fmt::format("%{:02x}", static_cast<uint8_t>(byte));
    const struct {
      std::string target;
      std::string body;
    } requests[] = {{"PUT /v1/services/web", body},
                    {"GET /v1/services/" + escaped, ""},
                    {"GET /v1/services/" + bad, ""},
                    {"GET /v1/services?page_token=" + escaped, ""},
                    {"GET /v1/services?label=a=" + escaped, ""},
                    {"GET /v1/watch?kind=" + escaped, ""}};
    for (const auto& request : requests) {
      HttpClient https(controller_.https_server());
      ASSERT_TRUE(https.start_tls(&own));
      const Reply reply = https.ask(request.target, request.body);
      EXPECT_EQ(reply.status, 400) << request.target << " " << reply.body;
      asked += 1;
    }
  }

  EXPECT_EQ(client_.get("service", "web").status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(grows(refused, before, asked));
  expect_others_are_served();
}

}  // namespace
}  // namespace holdfast::test
