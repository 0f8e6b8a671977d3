#include "apps/report/report_style.h"

namespace reel::apps {

// The colours of curves are Okabe and Ito's, which people of every colour vision tell apart, lightened where the page
// is dark. Curves differ in their dashes, too. Heat maps have one hue.
const std::string_view report_style = R"(
:root {
  color-scheme: light dark;
  --page: #f7f7f5; --card: #ffffff; --ink: #1d2129; --soft: #616773; --rule: #dddedb; --faint: #ebebe8;
  --heat: #08407a; --ground: #f3f6fa;
  --c0: #0072b2; --c1: #d55e00; --c2: #008f68; --c3: #b2568c; --c4: #9a7500; --c5: #4d4d4d;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14161a; --card: #1c1f25; --ink: #e4e6ea; --soft: #9aa1ad; --rule: #343943; --faint: #282c34;
    --heat: #a9d6ff; --ground: #15202c;
    --c0: #56b4e9; --c1: #f0883e; --c2: #3fc79a; --c3: #e094c0; --c4: #e6c229; --c5: #b8bcc4;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
main { max-width: 76rem; margin: 0 auto; padding: clamp(1.25rem, 4vw, 3.5rem) clamp(1rem, 4vw, 2.5rem) 5rem; }
h1 { margin: 0; font-size: clamp(1.6rem, 4vw, 2.2rem); line-height: 1.2; letter-spacing: -.02em; font-weight: 650;
  overflow-wrap: anywhere; }
header p { margin: .35rem 0 0; color: var(--soft); font-size: 1.05rem; overflow-wrap: anywhere; }
h2 { margin: 3.25rem 0 1rem; font-size: 1.25rem; line-height: 1.3; letter-spacing: -.01em; font-weight: 620; }
.note { margin: -.6rem 0 1.1rem; max-width: 44rem; color: var(--soft); }
dl, dd, figure, ul { margin: 0; padding: 0; }

.highlights { display: flex; flex-wrap: wrap; gap: .9rem 2.75rem; margin-top: 1.75rem; }
.highlights dt { color: var(--soft); font-size: .875rem; }
.highlights dd { font-size: 1.6rem; line-height: 1.25; font-weight: 600; letter-spacing: -.02em;
  font-variant-numeric: tabular-nums; }

.settings { columns: 17rem; column-gap: 2.5rem; font-size: .9rem; }
.settings div { display: flex; justify-content: space-between; gap: 1rem; padding: .28rem 0;
  border-bottom: 1px solid var(--faint); break-inside: avoid; }
.settings dt { color: var(--soft); white-space: nowrap; }
.settings dd { text-align: right; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }

.charts, .samples, .heat-maps { gap: 1.25rem; margin: 1rem 0; align-items: start; }
.charts, .samples { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); }
.heat-maps { display: flex; flex-wrap: wrap; }
figure { min-width: 0; background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
  padding: 1rem 1.15rem 1.1rem; }
figcaption { font-weight: 600; font-size: .95rem; overflow-wrap: anywhere; }

.chart svg { display: block; width: 100%; height: auto; overflow: visible; }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1.25rem; margin: .15rem 0 .6rem; list-style: none;
  font-size: .85rem; color: var(--soft); }
.legend li { overflow-wrap: anywhere; min-width: 0; }
.legend svg { display: inline-block; width: 22px; height: 8px; margin-right: .4rem; vertical-align: middle; }
.legend b { font-weight: 600; color: var(--ink); font-variant-numeric: tabular-nums; margin-left: .15rem; }
.axes text { font-size: 11.5px; fill: var(--soft); font-variant-numeric: tabular-nums; }
.axes .y { text-anchor: end; }
.axes .x { text-anchor: middle; }
.axes path { stroke: var(--faint); fill: none; }
.axes .base, .axes .mark { stroke: var(--rule); }
.line, .dot { fill: none; stroke: var(--c); stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.dot { stroke-width: 5.5; }
.band { fill: var(--c); stroke: var(--c); stroke-width: .75; opacity: .2; stroke-linejoin: round; }
.series-0 { --c: var(--c0); } .series-1 { --c: var(--c1); } .series-2 { --c: var(--c2); }
.series-3 { --c: var(--c3); } .series-4 { --c: var(--c4); } .series-5 { --c: var(--c5); }
.series-1 .line { stroke-dasharray: 7 4; } .series-2 .line { stroke-dasharray: 2 4; }
.series-3 .line { stroke-dasharray: 9 4 2 4; } .series-4 .line { stroke-dasharray: 12 4; }
.series-5 .line { stroke-dasharray: 4 3; }

.sample figcaption { margin-bottom: .6rem; }
pre { margin: 0; max-height: 26rem; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 4;
  font: .84rem/1.55 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }

.table { margin: 1rem 0; }
.table div { overflow-x: auto; margin-top: .5rem; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; }
th, td { padding: .5rem 1.25rem .5rem 0; text-align: start; vertical-align: top; border-bottom: 1px solid var(--faint);
  white-space: pre-line; overflow-wrap: break-word; }
th:last-child, td:last-child { padding-right: 0; }
tr:last-child td { border-bottom: 0; }
th { color: var(--soft); font-weight: 500; font-size: .85rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; }

.heat-map svg { display: block; max-width: 100%; height: auto; margin-top: .5rem; overflow: visible; }
.heat-map text { font: 11px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  fill: var(--soft); white-space: pre; }
.heat-map .row { text-anchor: end; }
.heat-map .column { text-anchor: middle; }
.ground { fill: var(--ground); }
.cells { stroke: var(--heat); stroke-width: 1; fill: none; shape-rendering: crispEdges; }
.heat-scale { display: flex; align-items: center; gap: .45rem; margin: .7rem 0 0; font-size: .8rem; color: var(--soft);
  font-variant-numeric: tabular-nums; }
.heat-scale i { width: 3.5rem; height: .55rem; background: 0 0 / 200% linear-gradient(90deg, transparent, var(--heat)),
  var(--ground); }
.heat-scale i + i { background-position: 100% 0; }

@media (max-width: 32rem) {
  .axes text { font-size: 15px; }
  figure { padding: .85rem .85rem 1rem; }
}
@media print { figure, .settings div { break-inside: avoid; } pre { max-height: none; } }
)";

}  // namespace reel::apps
