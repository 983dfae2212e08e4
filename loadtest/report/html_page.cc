#include "loadtest/report/html_page.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace weft {
namespace {

constexpr std::string_view kStyle = R"css(
:root{color-scheme:light dark;--page:#f4f5f7;--card:#fff;--ink:#1a1f26;--soft:#5a6572;--grid:#e7eaee;--edge:#d9dde3;
--axis:#9aa4b0;--s1:#2166c4;--s2:#d4690a;--s3:#0d8a74;--s4:#9a3c97;--good:#1d7a41;--bad:#c22f2f;--warn:#8a6100;
--badfill:#fdeeee;--late:#b9c0c9;--hover:#1a1f26}
@media (prefers-color-scheme:dark){:root{--page:#111418;--card:#1a1e24;--ink:#e6e9ed;--soft:#98a3b0;--grid:#272d35;
--edge:#2d343d;--axis:#5c6773;--s1:#6aa8f7;--s2:#f2a14e;--s3:#43c5ab;--s4:#d98bd6;--good:#5fcf8b;--bad:#ff7b7b;
--warn:#e0b04c;--badfill:#3a1f22;--late:#56606c;--hover:#fff}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:1200px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:26px;line-height:1.2;margin:0 0 4px;letter-spacing:-.01em}
h2{font-size:18px;margin:38px 0 12px}
h3{font-size:15px;margin:22px 0 8px}
p{margin:0 0 10px}
.sub{color:var(--soft);overflow-wrap:anywhere}
.verdict{margin:18px 0 0;padding:12px 16px;border-radius:8px;border:1px solid var(--edge);border-left:5px solid var(--good);background:var(--card);overflow-wrap:anywhere}
.verdict.bad{border-left-color:var(--bad);background:var(--badfill)}
.verdict b{color:var(--good)}.verdict.bad b{color:var(--bad)}
.verdict ul{margin:4px 0 0;padding-left:20px}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin-top:18px}
.card{background:var(--card);border:1px solid var(--edge);border-radius:8px;padding:12px 14px;min-width:0}
.card span{display:block;color:var(--soft);font-size:13px}
.card strong{font-size:25px;line-height:1.25;font-weight:650;letter-spacing:-.02em;font-variant-numeric:tabular-nums}
.card em{font-style:normal;font-size:14px;color:var(--soft);margin-left:4px}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:14px}
figure{margin:0;background:var(--card);border:1px solid var(--edge);border-radius:8px;padding:14px 14px 8px;min-width:0;break-inside:avoid}
figcaption b{display:block}
figcaption span{color:var(--soft);font-size:13px;display:block}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:2px 16px;margin:8px 0 4px;padding:0;font-size:13px}
.legend i{display:inline-block;width:14px;height:4px;border-radius:2px;margin-right:6px;vertical-align:middle;background:currentColor}
.legend i.box{height:11px;width:11px}
svg{display:block;width:100%;height:auto;font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums}
.s1{color:var(--s1)}.s2{color:var(--s2)}.s3{color:var(--s3)}.s4{color:var(--s4)}.late{color:var(--late)}.failed{color:var(--bad)}
.grid{stroke:var(--grid);stroke-width:1}.axis{stroke:var(--axis);stroke-width:1}
.tick,.label{fill:var(--soft)}
.line{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}
.fill{fill:currentColor;opacity:.16}.dot{fill:currentColor}.bar{fill:none;stroke:currentColor;stroke-width:1.2}
.mark{stroke:var(--bad);stroke-width:1.2;stroke-dasharray:5 4}.marked{fill:var(--bad);paint-order:stroke;stroke:var(--card);stroke-width:4px;stroke-linejoin:round}
.hit{fill:var(--hover);fill-opacity:0}.hit:hover{fill-opacity:.08}
.span{fill:currentColor}.row:hover .span{opacity:.6}
.none{color:var(--soft);padding:30px 0;text-align:center}
.wide{overflow-x:auto}.wide svg{min-width:680px}
.table{overflow-x:auto;background:var(--card);border:1px solid var(--edge);border-radius:8px}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:14px}
th,td{padding:7px 12px;text-align:right;white-space:nowrap;border-bottom:1px solid var(--grid)}
tr:last-child>*{border-bottom:0}
th{color:var(--soft);font-weight:500}
th:first-child,td:first-child,.words th,.words td{text-align:left}
.words td{vertical-align:top;white-space:normal;overflow-wrap:anywhere}
tbody th{color:var(--ink);font-weight:400}
.words tbody th{color:var(--soft);width:1%;vertical-align:top}
.met{color:var(--good)}.missed{color:var(--bad);font-weight:600}
footer{color:var(--soft);font-size:13px;margin-top:36px}
@media (max-width:640px){main{padding:18px 12px 40px}h1{font-size:21px}figure{padding:12px 8px 6px}.plot svg,.timeline svg{font-size:17px}
.card{padding:10px 12px}.card strong{font-size:21px}.cards{grid-template-columns:repeat(2,1fr)}th,td{padding:6px 9px}}
@media print{:root{--page:#fff}body{font-size:11pt}main{max-width:none;padding:0}.wide{overflow:visible}.wide svg{min-width:0}
.plots{grid-template-columns:1fr 1fr}h2{break-after:avoid}}
)css";

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = DecodeUtf8(text, 0);
    const char c = text.front();
    const bool is_control = (c >= 0 && c < 0x20 && c != '\n' && c != '\t') || c == 0x7F;
    if (character.status != Utf8Status::kValid || is_control) {
      escaped += kReplacementCharacter;
    } else if (character.size_bytes > 1) {
      escaped += text.substr(0, character.size_bytes);
    } else if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if (c == '\'') {
      escaped += "&#39;";
    } else {
      escaped += c;
    }
    text.remove_prefix(character.size_bytes);
  }
  return escaped;
}

std::string HtmlPage(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      // Nothing may be loaded, whatever a server's words were to contain.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n{}</main>\n</body>\n</"
      "html>\n",
      EscapeHtml(title), kStyle, body);
}

std::string HtmlCard(std::string_view name, std::string_view value, std::string_view unit,
                     std::string_view note) {
  return fmt::format(
      "<div class=\"card\"><span>{}</span><strong>{}</strong><em>{}</em><span>{}</span></div>\n",
      EscapeHtml(name), EscapeHtml(value), EscapeHtml(unit), EscapeHtml(note));
}

}  // namespace weft
