#include "grammar/regex/formats.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/grammar/regex/regex_match.h"

namespace weft {
namespace {

// The cases of the JSON-Schema-Test-Suite's optional/format, draft 2020-12, and some more.
struct FormatCases {
  const char* format;
  std::vector<std::string> valid;
  std::vector<std::string> invalid;
};

void CheckFormats(const std::vector<FormatCases>& all) {
  for (const FormatCases& cases : all) {
    RegexArena arena;
    const RegexId id = FormatRegex(&arena, cases.format).value();
    for (const std::string& text : cases.valid) {
      EXPECT_TRUE(RegexMatches(&arena, id, text)) << cases.format << " and '" << text << "'";
    }
    for (const std::string& text : cases.invalid) {
      EXPECT_FALSE(RegexMatches(&arena, id, text)) << cases.format << " and '" << text << "'";
    }
    EXPECT_TRUE(arena.status().has_value()) << cases.format;
  }
}

TEST(FormatRegex, Dates) {
  CheckFormats(
      {{"date",
        {"1987-07-21", "2024-01-31", "2023-02-28", "2024-02-29", "2000-02-29", "2024-03-31",
         "2024-04-30", "2024-05-31", "2024-06-30", "2024-07-31", "2024-08-31", "2024-09-30",
         "2024-10-31", "2024-11-30", "2024-12-31", "0000-02-29"},
        {"2024-01-32",
         "2023-02-29",
         "1900-02-29",
         "2100-02-29",
         "2024-02-30",
         "2024-03-32",
         "2024-04-31",
         "2024-05-32",
         "2024-06-31",
         "2024-07-32",
         "2024-08-32",
         "2024-09-31",
         "2024-10-32",
         "2024-11-31",
         "2024-12-32",
         "2024-13-01",
         "2024-00-10",
         "2024-01-00",
         "07/21/1987",
         "2013-350",
         "1998-1-20",
         "1998-01-1",
         "1963-06-1\u09EA",
         "20230328",
         "2023-W01",
         "2023-W13-2",
         "2022W527",
         "02024-01-01",
         ""}}});
}

TEST(FormatRegex, Times) {
  CheckFormats(
      {{"time",
        {"07:30:06Z", "07:30:06z", "23:59:60Z", "23:59:60.5z", "23:59:60+00:00", "23:59:60-00:00",
         "01:29:60+01:30", "00:29:60+00:30", "23:29:60+23:30", "00:59:60+01:00", "15:59:60-08:00",
         "00:29:60-23:30", "22:59:60-01:00", "18:44:60.25-05:15", "23:20:50.52Z",
         "08:30:06.283185Z", "08:30:06+00:20", "08:30:06-08:00", "00:00:00+23:59"},
        {"008:030:006Z",   "8:3:6Z",         "8:0030:6Z",      "22:59:60Z",      "23:58:60Z",
         "22:59:60+00:00", "23:58:60+00:00", "23:59:60+01:00", "23:59:60+00:30", "01:00:60+01:00",
         "00:59:60+00:00", "23:59:60-01:00", "23:59:60-00:30", "08:30:06-8:000", "24:00:00Z",
         "00:60:00Z",      "00:00:61Z",      "01:02:03+24:00", "01:02:03+00:60", "01:02:03Z+00:30",
         "08:30:06 PST",   "01:01:01,1111",  "12:00:00",       "12:00:00.52",    "12:00:00.Z",
         "1\u09E8:00:00Z", "08:30:06#00:20", "ab:cd:ef"}},
       {"date-time",
        {"1963-06-19T08:30:06.283185Z", "1963-06-19T08:30:06Z", "1963-06-19t08:30:06z",
         "1937-01-01T12:00:27.87+00:20", "1990-12-31T15:59:50.123-08:00", "1998-12-31T23:59:60Z",
         "1998-12-31T15:59:60.123-08:00"},
        {"1998-12-31T23:59:61Z", "1998-12-31T23:58:60Z", "1998-12-31T22:59:60Z",
         "1990-02-31T15:59:59.123-08:00", "1990-12-31T15:59:59-24:00",
         "1963-06-19T08:30:06.28123+01:00Z", "06/19/1963 08:30:06 PST", "1963-06-19 08:30:06Z",
         "2013-350T01:01:01", "1963-6-19T08:30:06.283185Z", "1963-06-1T08:30:06.283185Z",
         "1963-06-1\u09EAT00:00:00Z", "1963-06-11T0\u09EA:00:00Z", "1963-06-19", "08:30:06Z"}}});
}

TEST(FormatRegex, Durations) {
  CheckFormats({{"duration",
                 {"P4DT12H30M5S", "P4Y", "PT0S", "P0D", "P1M", "PT1M", "PT36H", "P1DT12H", "P2W",
                  "P1Y2M3D", "P1Y2M", "PT1H2M3S", "P12MT1S"},
                 {"PT1D", "4DT12H30M5S", "P", "P1YT", "PT", "P2D1Y", "P1D2H", "P2S", "P1Y2W",
                  "P\u09E8Y", "P1", "P1Y3D", "PT1H5S", "PT1.5S", "P-1D", ""}}});
}

TEST(FormatRegex, Mail) {
  const std::string local(64, 'a');
  CheckFormats(
      {{"email",
        {"joe.bloggs@example.com", "te~st@example.com", "~test@example.com", "test~@example.com",
         "\"joe bloggs\"@example.com", "\"joe..bloggs\"@example.com", "\"joe@bloggs\"@example.com",
         "\"a\\\"b\"@example.com", "a@[127.0.0.1]", "a@[IPv6:::1]", "te.s.t@example.com", "a@b",
         local + "@example.com"},
        {"2962", ".test@example.com", "test.@example.com", "te..st@example.com",
         "joe.bloggs@invalid=domain.com", "a@[127.0.0.300]", "a@[::1]", "a@b.", "a@-b.com", "a@b_c",
         "@b", "a@", "a b@c", "\"a\"b\"@c", local + "a@example.com", "\xC3\xA4@example.com"}},
       {"idn-email",
        {"\uC2E4\uB840@\uC2E4\uB840.\uD14C\uC2A4\uD2B8", "joe.bloggs@example.com"},
        {"2962", "\uC2E4\uB840", "a@\u0300b", "a@\u2603.com"}}});
}

TEST(FormatRegex, Hosts) {
  const std::string label(63, 'a');
  const std::string longest = label + "." + label + "." + label + "." + std::string(61, 'b');
  CheckFormats({{"hostname",
                 {"www.example.com", "xn--4gbwdl.xn--wgbh1c", label + ".com", "hostname",
                  "host-name", "h0stn4me", "1host", "hostnam3", longest},
                 {"-starts", "ends-", "a.-b", "not_a_name", "_hostname", "hostname_",
                  label + "a.com", "", ".", "a.", ".a", "a..b", "a b", "\xC3\xA4", longest + "b"}},
                {"ipv4",
                 {"192.168.0.1", "0.0.0.0", "255.255.255.255", "87.10.0.1"},
                 {"127.0.0.0.1", "256.256.256.256", "127.0", "0x7f000001", "2130706433",
                  "087.10.0.1", "1\u09E87.0.0.1", "192.168.1.0/24", "1.2.3.", "", "00.0.0.0"}},
                {"ipv6",
                 {"::1", "::", "::abef", "::42:ff:1", "d6::", "1:d6::42", "1::d6:192.168.0.1",
                  "1:2::192.168.0.1", "::ffff:192.168.0.1", "1:2:3:4:5:6:7:8",
                  "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1:2:3::6:7:8",
                  "1000:1000:1000:1000:1000:1000:255.255.255.255", "2001:DB8::ff"},
                 {"12345::",
                  "::abcef",
                  "1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1",
                  "::laptop",
                  ":2:3:4:5:6:7:8",
                  "1:2:3:4:5:6:7:",
                  ":2:3:4::8",
                  "1::d6::42",
                  "1::2:192.168.256.1",
                  "1::2:192.168.ff.1",
                  "1:2:3:4:5:::8",
                  "1:2:3:4:5:6:7",
                  "1",
                  "127.0.0.1",
                  "1:2:3:4:1.2.3",
                  "  ::1",
                  "::1  ",
                  "fe80::/64",
                  "fe80::a%eth1",
                  "100:100:100:100:100:100:255.255.255.255.255",
                  "100:100:100:100:100:100:100:255.255.255.255",
                  "1:2:3:4:5:6:7:\u09EA",
                  "1:2::192.16\u09EA.0.1",
                  "1:2:3:4::5:6:7:8",
                  ""}}});
}

TEST(FormatRegex, Uris) {
  const std::vector<std::string> uris = {"http://foo.bar/?baz=qux#quux",
                                         "http://foo.com/blah_(wikipedia)_blah#cite-1",
                                         "http://foo.bar/?q=Test%20URL-encoded%20stuff",
                                         "http://xn--nw2a.xn--j6w193g/",
                                         "http://-.~_!$&'()*+,;=:%40:80%2f::::::@example.com",
                                         "http://223.255.255.254",
                                         "ftp://ftp.is.co.za/rfc/rfc1808.txt",
                                         "ldap://[2001:db8::7]/c=GB?objectClass?one",
                                         "mailto:John.Doe@example.com",
                                         "news:comp.infosystems.www.servers.unix",
                                         "tel:+1-816-555-1212",
                                         "urn:oasis:names:specification:docbook:dtd:xml:4.1.2",
                                         "file:///etc/hosts",
                                         "a:",
                                         "http://[v1.a:b]:80"};
  const std::vector<std::string> neither = {"\\\\WINDOWS\\fileshare",
                                            "http:// shouldfail.com",
                                            ":// should fail",
                                            "bar,baz:foo",
                                            "http://a/%zz",
                                            "http://a/%4",
                                            "http://[::1",
                                            "http://a:b",
                                            "http://a/{b}",
                                            "1a:b",
                                            "http://a#b#c",
                                            "http://[12345::]/",
                                            "http://a/\xC3\xA4"};
  std::vector<std::string> no_uri = neither;
  for (const char* text : {"//foo.bar/?baz=qux#quux", "/abc", "abc", "", "#fragment"}) {
    no_uri.push_back(text);
  }
  CheckFormats(
      {{"uri", uris, no_uri},
       {"uri-reference", uris, neither},
       {"uri-reference",
        {"//foo.bar/?baz=qux#quux", "/abc", "abc", "#fragment", "", "a/b:c", "./a:b", "?q"},
        {"#frag\\ment", "a b", ":a"}},
       {"iri",
        {"http://\u0192\u00F8\u00F8.\u00DF\u00E5r/?\u2202\u00E9\u0153=\u03C0\u00EEx#\u03C0\u00EE",
         "http://\u0192\u00F8.com/blah_(w\u00EEk)_blah#\u00DFit\u00E9-1",
         "http://\u0192\u00F8\u00F8.\u00DF\u00E5r/?q=Test%20URL-encoded%20stuff",
         "http://-.~_!$&'()*+,;=:%40:80%2f::::::@example.com",
         "http://[2001:0db8:85a3:0000:0000:8a2e:0370:7334]", "http://a/?\uE000"},
        {"http://2001:0db8:85a3:0000:0000:8a2e:0370:7334", "/abc", "\\\\WINDOWS\\fil\u00EB",
         "\u00E2\u03C0\u03C0", "http://a/\uE000", "http://a/\uFFFF"}},
       {"iri-reference",
        {"http://\u0192\u00F8\u00F8.\u00DF\u00E5r/", "//\u0192\u00F8\u00F8.\u00DF\u00E5r/?\u2202",
         "/\u00E2\u03C0\u03C0", "\u00E2\u03C0\u03C0", "#\u0192r\u00E4gm\u00EAnt"},
        {"\\\\WINDOWS\\fil\u00EB", "#\u0192r\u00E4g\\m\u00EAnt"}},
       {"uri-template",
        {"http://example.com/dictionary/{term:1}/{term}", "http://example.com/dictionary",
         "dictionary/{term:1}/{term}", "{+a,b*}{?c.d}{#%41}", "", "{&x}\u00E4"},
        {"http://example.com/dictionary/{term:1}/{term", "{}", "{a:0}", "{a:10000}", "{a b}", "}",
         "{a,}", "{.}", "a b", "%4"}}});
}

TEST(FormatRegex, UuidsAndPointers) {
  CheckFormats(
      {{"uuid",
        {"2EB8AA08-AA98-11EA-B4AA-73B441D16380", "2eb8aa08-aa98-11ea-b4aa-73b441d16380",
         "2eb8aa08-AA98-11ea-B4Aa-73B441D16380", "00000000-0000-0000-0000-000000000000",
         "99c17cbb-656f-f64a-940f-1a4568f03487"},
        {"2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08-aa98-11ea-73b441d16380",
         "2eb8aa08-aa98-11ea-b4ga-73b441d16380", "2eb8aa08aa9811eab4aa73b441d16380",
         "2eb8aa08aa98-11ea-b4aa73b441d16380", "2eb8-aa08-aa98-11ea-b4aa73b44-1d16380",
         "2eb8aa08aa9811eab4aa73b441d16380----"}},
       {"json-pointer",
        {"/foo/bar~0/baz~1/%a",
         "/foo//bar",
         "/foo/bar/",
         "",
         "/foo",
         "/foo/0",
         "/",
         "/a~1b",
         "/c%d",
         "/e^f",
         "/g|h",
         "/i\\j",
         "/k\"l",
         "/ ",
         "/m~0n",
         "/foo/-",
         "/foo/-/bar",
         "/~1~0~0~1~1",
         "/~1.1",
         "/~0.1",
         "/\n\xC3\xA4"},
        {"/foo/bar~", "#", "#/", "#a", "/~0~", "/~0/~", "/~2", "/~-1", "/~~", "a", "0", "a/a"}},
       {"relative-json-pointer",
        {"1", "0/foo/bar", "2/0/baz/1/zip", "0#", "120/foo/bar", "0/"},
        {"/foo/bar", "-1/foo/bar", "+1/foo/bar", "0##", "01/a", "01#", "", "0a"}}});
}

TEST(FormatRegex, WhatItDoesNotKnow) {
  RegexArena arena;
  for (const char* format : {"regex", "idn-hostname", "unknown", "Date", ""}) {
    EXPECT_EQ(FormatRegex(&arena, format), std::nullopt) << format;
  }
  EXPECT_TRUE(IsAnnotationFormat("int32"));
  EXPECT_TRUE(IsAnnotationFormat("password"));
  EXPECT_FALSE(IsAnnotationFormat("date"));
  EXPECT_FALSE(IsAnnotationFormat("unknown"));
}

TEST(FormatRegex, AReachedLimitIsNoCrash) {
  RegexArena arena({.expressions = 50, .bytes = 1 << 20});
  EXPECT_EQ(FormatRegex(&arena, "date-time"), RegexId::kNothing);
  EXPECT_FALSE(arena.status().has_value());
}

}  // namespace
}  // namespace weft
