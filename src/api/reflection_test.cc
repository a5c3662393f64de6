#include "api/reflection.h"

#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include "holdfast/v1/api.pb.h"

namespace holdfast::api {
namespace {

TEST(Reflection, ListsTheServicesGiven) {
  ReflectionRequest request;
  request.set_list_services("*");

  const ReflectionResponse response = reflect(request, {"holdfast.v1.Resources"});

  ASSERT_EQ(response.list_services_response().service_size(), 1);
  EXPECT_EQ(response.list_services_response().service(0).name(), "holdfast.v1.Resources");
}

TEST(Reflection, AFileComesWithAllItNeeds) {
  const v1::GetRequest linked;  // so that its file is compiled in
  ReflectionRequest request;
  request.set_file_containing_symbol("holdfast.v1.GetRequest");

  const ReflectionResponse response = reflect(request, {});

  std::set<std::string> files;
  for (const std::string& bytes : response.file_descriptor_response().file_descriptor_proto()) {
    google::protobuf::FileDescriptorProto file;
    ASSERT_TRUE(file.ParseFromString(bytes));
    files.insert(file.name());
  }
  EXPECT_TRUE(files.contains("holdfast/v1/api.proto"));
  EXPECT_TRUE(files.contains("holdfast/v1/resource.proto"));
  EXPECT_TRUE(files.contains("google/protobuf/timestamp.proto"));
}

TEST(Reflection, WhatThereIsNotIsNotFound) {
  ReflectionRequest request;
  request.set_file_by_filename("../../etc/passwd");

  EXPECT_EQ(reflect(request, {}).error_response().error_code(), 5);
  EXPECT_TRUE(reflect(ReflectionRequest(), {}).has_error_response());
}

}  // namespace
}  // namespace holdfast::api
