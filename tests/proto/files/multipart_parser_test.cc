#include "proto/files/multipart_parser.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/result.h"
#include "proto/files/upload_form.h"

namespace weft {
namespace {

// What a form says, in one line: "name(filename)=data;".
class Recorder : public MultipartHandler {
 public:
  ApiResult<void> OnPart(MultipartPart part) override {
    if (!text.empty()) text += ';';
    text += part.name;
    if (part.filename) text += "(" + *part.filename + ")";
    text += '=';
    return {};
  }
  ApiResult<void> OnData(std::string_view bytes) override {
    text += bytes;
    return {};
  }
  std::string text;
};

// The form, put in pieces of this size; "ERROR message" if it is none.
std::string Parsed(std::string_view body, size_t piece_bytes) {
  Recorder recorder;
  MultipartParser parser("b", recorder);
  for (; !body.empty(); body.remove_prefix(std::min(piece_bytes, body.size()))) {
    const ApiResult<void> put = parser.Put(body.substr(0, piece_bytes));
    if (!put) return put.error().code + " " + put.error().message;
  }
  const ApiResult<void> finished = parser.Finish();
  return finished ? recorder.text : finished.error().code + " " + finished.error().message;
}

constexpr char kField[] = "Content-Disposition: form-data; name=\"a\"\r\n\r\n";

struct Case {
  std::string what;
  std::string body;
  std::string parsed;
};

TEST(MultipartParserTest, FormsInPiecesOfAnySize) {
  const std::string field(kField);
  const std::vector<Case> cases = {
      {"nothing", "--b--", ""},
      {"one field", "--b\r\n" + field + "x\r\n--b--\r\n", "a=x"},
      {"an empty field", "--b\r\n" + field + "\r\n--b--", "a="},
      {"a preamble and an epilogue", "hi\r\n--b\r\n" + field + "x\r\n--b--bye\r\n--b\r\n", "a=x"},
      {"padding behind the boundary", "--b \t\r\n" + field + "x\r\n--b--", "a=x"},
      {"line ends and dashes in data", "--b\r\n" + field + "\r\n--\r\n-\r\n--b--", "a=\r\n--\r\n-"},
      {"other headers", "--b\r\nContent-Type: x/y\r\n" + field + "x\r\n--b--", "a=x"},
      {"a file",
       "--b\r\ncontent-disposition:form-data;filename=\"c;\\\"d.txt\"; name=file\r\n\r\nx\r\n--b--",
       "file(c;\"d.txt)=x"},
      {"two parts", "--b\r\n" + field + "x\r\n--b\r\n" + field + "y\r\n--b--", "a=x;a=y"},
  };
  for (const Case& each : cases) {
    for (size_t piece_bytes = 1; piece_bytes <= each.body.size() + 1; ++piece_bytes) {
      EXPECT_EQ(Parsed(each.body, piece_bytes), each.parsed) << each.what << ", " << piece_bytes;
    }
  }
}

TEST(MultipartParserTest, WhatIsNoForm) {
  const std::string field(kField);
  const std::string many(static_cast<size_t>(MultipartParser::kMaxParts) + 1, 'p');
  std::string parts;
  for (size_t i = 0; i < many.size(); ++i) parts += "--b\r\n" + field + "\r\n";
  const std::vector<Case> cases = {
      {"cut in the data", "--b\r\n" + field + "x\r\n",
       "malformed_multipart the body ends before its last boundary has come"},
      {"no boundary", "x", "malformed_multipart the body ends before its last boundary has come"},
      {"text behind the boundary", "--bc\r\n" + field + "x\r\n--b--",
       "malformed_multipart a boundary is followed by neither a line's end nor --"},
      {"spaces behind the boundary", "--b" + std::string(100, ' '),
       "malformed_multipart a boundary is followed by too many spaces"},
      {"a head without an end", "--b\r\nA: " + std::string(MultipartParser::kMaxHeadBytes, 'x'),
       "malformed_multipart a part's head is longer than 8192 bytes"},
      {"no head", "--b\r\n\r\nx\r\n--b--", "malformed_multipart a part has no Content-Disposition"},
      {"no header", "--b\r\nx\r\n\r\n\r\n--b--",
       "malformed_multipart a part's head has the line 'x', which is no header"},
      {"another disposition", "--b\r\nContent-Disposition: inline; name=a\r\n\r\nx\r\n--b--",
       "malformed_multipart a part's Content-Disposition must be form-data with a name, not "
       "'inline; name=a'"},
      {"no name", "--b\r\nContent-Disposition: form-data; name=\"a\r\n\r\nx\r\n--b--",
       "malformed_multipart a part's Content-Disposition must be form-data with a name, not "
       "'form-data; name=\"a'"},
      {"too many parts", parts + "--b--", "malformed_multipart the form has more than 16 parts"},
  };
  for (const Case& each : cases) {
    for (const size_t piece_bytes : {size_t{1}, size_t{7}, each.body.size()}) {
      EXPECT_EQ(Parsed(each.body, piece_bytes), each.parsed) << each.what << ", " << piece_bytes;
    }
  }
}

TEST(MultipartParserTest, BoundariesOfContentTypes) {
  const auto boundary = [](const std::string& type) {
    return MultipartParser::BoundaryOf(type).value_or("none");
  };
  EXPECT_EQ(boundary("multipart/form-data; boundary=abc"), "abc");
  EXPECT_EQ(boundary("multipart/form-data; charset=utf-8; Boundary=\"a b\""), "a b");
  EXPECT_EQ(boundary("multipart/form-data"), "none");
  EXPECT_EQ(boundary("multipart/form-data; boundary="), "none");
  EXPECT_EQ(boundary("multipart/form-data; boundary=\"a "), "none");
  EXPECT_EQ(boundary("multipart/form-data; boundary=\"a\nb\""), "none");
  EXPECT_EQ(boundary("multipart/form-data; boundary=" + std::string(70, 'a')),
            std::string(70, 'a'));
  EXPECT_EQ(boundary("multipart/form-data; boundary=" + std::string(71, 'a')), "none");
}

// Of an upload with these fields, each "name=value", and a file: its name and how long it is kept,
// or the field that is to blame.
std::string Uploaded(const std::vector<std::pair<std::string, std::string>>& fields,
                     const std::string& filename) {
  std::string content;
  UploadForm form([&](std::string_view bytes) -> ApiResult<void> {
    content += bytes;
    return {};
  });
  const auto run = [&]() -> ApiResult<UploadFields> {
    WEFT_RETURN_IF_ERROR(form.OnPart({.name = "file", .filename = filename}));
    WEFT_RETURN_IF_ERROR(form.OnData("x"));
    for (const auto& [name, value] : fields) {
      WEFT_RETURN_IF_ERROR(form.OnPart({.name = name, .filename = std::nullopt}));
      WEFT_RETURN_IF_ERROR(form.OnData(value));
    }
    return form.Finish();
  };
  const ApiResult<UploadFields> read = run();
  if (!read) return "ERROR " + read.error().param;
  EXPECT_EQ(content, "x");
  return read->filename + " " + std::to_string(read->expiry_seconds);
}

TEST(UploadFormTest, FieldsAndTheirRanges) {
  const std::pair<std::string, std::string> purpose{"purpose", "batch"};
  const std::pair<std::string, std::string> anchor{"expires_after[anchor]", "created_at"};
  EXPECT_EQ(Uploaded({purpose}, "in.jsonl"), "in.jsonl 2592000");
  EXPECT_EQ(Uploaded({purpose, {"other", "x"}}, "../../etc/passwd"), "passwd 2592000");
  EXPECT_EQ(Uploaded({purpose}, "C:\\in.jsonl"), "in.jsonl 2592000");
  EXPECT_EQ(Uploaded({purpose, anchor, {"expires_after[seconds]", "3600"}}, "a"), "a 3600");
  for (const char* const seconds : {"", "3599", "2592001", "36OO", "9999999999"}) {
    EXPECT_EQ(Uploaded({purpose, anchor, {"expires_after[seconds]", seconds}}, "a"),
              "ERROR expires_after[seconds]")
        << seconds;
  }
  EXPECT_EQ(Uploaded({purpose, {"expires_after[seconds]", "3600"}}, "a"),
            "ERROR expires_after[anchor]");
  EXPECT_EQ(Uploaded({}, "a"), "ERROR purpose");
  EXPECT_EQ(Uploaded({{"purpose", "assistants"}}, "a"), "ERROR purpose");
  EXPECT_EQ(Uploaded({{"purpose", std::string(300, 'b')}}, "a"), "ERROR ");
  EXPECT_EQ(Uploaded({purpose}, ""), "ERROR file");
  EXPECT_EQ(Uploaded({purpose}, "a\nb"), "ERROR file");
  EXPECT_EQ(Uploaded({purpose}, std::string(256, 'a')), "ERROR file");
}

}  // namespace
}  // namespace weft
