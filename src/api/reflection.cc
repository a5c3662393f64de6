#include "api/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <set>

namespace holdfast::api {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;

constexpr int kNotFound = 5;
constexpr int kUnimplemented = 12;

void set_error(ReflectionResponse& response, int code, std::string message) {
  response.mutable_error_response()->set_error_code(code);
  response.mutable_error_response()->set_error_message(std::move(message));
}

// The file after all it imports, each once.
void add_file(const FileDescriptor* file, std::set<const FileDescriptor*>& seen,
              grpc::reflection::v1alpha::FileDescriptorResponse& out) {
  if (!seen.insert(file).second) return;
  google::protobuf::FileDescriptorProto text;
  file->CopyTo(&text);
  out.add_file_descriptor_proto(text.SerializeAsString());
  for (int i = 0; i < file->dependency_count(); ++i) add_file(file->dependency(i), seen, out);
}

void answer_file(const FileDescriptor* file, ReflectionResponse& response) {
  if (file == nullptr) return set_error(response, kNotFound, "not found");
  std::set<const FileDescriptor*> seen;
  add_file(file, seen, *response.mutable_file_descriptor_response());
}

}  // namespace

ReflectionResponse reflect(const ReflectionRequest& request,
                           const std::vector<std::string>& services) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  ReflectionResponse response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case ReflectionRequest::kFileByFilename:
      answer_file(pool.FindFileByName(request.file_by_filename()), response);
      break;
    case ReflectionRequest::kFileContainingSymbol:
      answer_file(pool.FindFileContainingSymbol(request.file_containing_symbol()), response);
      break;
    case ReflectionRequest::kListServices:
      for (const std::string& name : services) {
        response.mutable_list_services_response()->add_service()->set_name(name);
      }
      break;
    case ReflectionRequest::kFileContainingExtension:
    case ReflectionRequest::kAllExtensionNumbersOfType:
      set_error(response, kNotFound, "there are no extensions");
      break;
    default:
      set_error(response, kUnimplemented, "unknown request");
      break;
  }
  return response;
}

}  // namespace holdfast::api
