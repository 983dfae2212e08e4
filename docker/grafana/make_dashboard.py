#!/usr/bin/env python3
"""Writes the dashboard beside it, dashboards/weft.json. Run it after a change; a test compares."""

import json
import os

OUTPUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dashboards", "weft.json")
SOURCE = {"type": "prometheus", "uid": "${source}"}
HERE = 'instance=~"$instance"'  # of every query
WIDTH = 24  # of Grafana's grid
HEIGHT = 8  # of a panel


def rate(metric, labels="", by=""):
    total = f"sum by ({by})" if by else "sum"
    selector = f"{HERE}, {labels}" if labels else HERE
    return f"{total} (rate({metric}{{{selector}}}[$__rate_interval]))"


def now(metric, by=""):
    return f"sum by ({by}) ({metric}{{{HERE}}})" if by else f"sum ({metric}{{{HERE}}})"


def quantiles(metric, shares=(0.5, 0.95, 0.99)):
    return [(f"histogram_quantile({share}, {rate(metric + '_bucket', by='le')})", f"p{share * 100:g}") for share in shares]


def mean(metric):
    return f"{rate(metric + '_sum')} / {rate(metric + '_count')}"


# Rows of panels: title, unit, queries with their names, and what to read from it.
ROWS = [
    ("Requests and tokens", [
        ("Requests ended", "reqps", [(rate("weft_choices_finished_total", by="reason"), "{{reason}}")],
         "Continuations a second by how they ended. `aborted` are clients that left, `failed` are the server's faults."),
        ("Tokens", "short", [(rate("weft_prompt_tokens_total"), "prompt"),
                             (rate("weft_completion_tokens_total"), "generated")],
         "Tokens a second, of prompts and of answers."),
        ("Prompt and answer length", "short", [(mean("weft_request_prompt_tokens"), "prompt"),
                                               (mean("weft_request_completion_tokens"), "answer")],
         "Mean tokens a request: what the load is made of."),
    ]),
    ("Latencies", [
        ("Time to first token", "s", quantiles("weft_time_to_first_token_seconds"),
         "From a whole request to its first token: queue and prompt."),
        ("Between tokens", "s", quantiles("weft_inter_token_latency_seconds"),
         "Between two tokens of a stream. --max-stall bounds it while prompts arrive."),
        ("Whole requests", "s", quantiles("weft_request_duration_seconds"), "From a whole request to its last token."),
        ("Where a request's time goes", "s", [(mean("weft_request_queue_seconds"), "queue"),
                                              (mean("weft_request_prefill_seconds"), "prompt"),
                                              (mean("weft_request_decode_seconds"), "generation")],
         "Means. A queue that grows is the first sign of too much load."),
    ]),
    ("Queue and batch", [
        ("Sequences", "short", [(now("weft_sequences_running"), "running"), (now("weft_requests_waiting"), "waiting")],
         "Running ones share every step; more wait when --max-sequences or the KV blocks are used up."),
        ("Sequences a step", "short", [(mean("weft_engine_step_sequences"), "mean")], "How large the batches are."),
        ("Rows a step", "short", quantiles("weft_engine_step_rows", (0.5, 0.95)),
         "Tokens that a step computes; at most --max-batch-tokens."),
    ]),
    ("KV and prefix cache", [
        ("KV blocks in use", "percentunit", [(f"max (weft_kv_usage_ratio{{{HERE}}})", "used")],
         "At 100 % sequences wait, or give up their blocks to older ones."),
        ("Preemptions", "ops", [(rate("weft_engine_preemptions_total"), "preemptions")],
         "Sequences that gave up their KV blocks and are computed again. More memory, or fewer sequences, ends it."),
        ("Prefix cache", "percentunit",
         [(f"{rate('weft_prefix_cache_hits_total')} / {rate('weft_prefix_cache_queries_total')}", "hits")],
         "Share of the prompts' tokens that were there already."),
    ]),
    ("Engine", [
        ("Step time", "s", quantiles("weft_engine_step_duration_seconds"), "One forward pass with sampling."),
        ("Busy", "percentunit", [(rate("weft_engine_step_duration_seconds_sum"), "steps")],
         "Share of the time that the engine computes. At 100 % more load only waits longer."),
        ("Tokens computed", "short", [(rate("weft_engine_computed_tokens_total", by="phase"), "{{phase}}")],
         "Rows a second by phase; recomputation after preemption included."),
        ("Steps with streams and prompts", "s",
         [(mean("weft_engine_mixed_step_duration_seconds"), "took"),
          (mean("weft_engine_mixed_step_predicted_seconds"), "predicted")],
         "Chunks of prompts are cut so that such a step takes --max-stall at most."),
        ("Against the machine's limits", "percentunit",
         [(f"max (weft_engine_bandwidth_ratio{{{HERE}}})", "memory bandwidth"),
          (f"max (weft_engine_arithmetic_ratio{{{HERE}}})", "arithmetic")],
         "The larger one says what bounds the steps, and how near they are to what the machine can do."),
    ]),
    ("Memory", [
        ("Set aside at the start", "bytes", [(now("weft_memory_bytes", by="use"), "{{use}}"),
                                             (now("weft_memory_limit_bytes"), "limit")],
         "Decided before the port opens; it does not grow."),
        ("Resident", "bytes", [(now("weft_process_resident_bytes"), "resident"),
                               (now("weft_memory_limit_bytes"), "limit")],
         "What the process has in memory now: KV pages count once they are used."),
    ]),
    ("HTTP and errors", [
        ("Answers", "reqps", [(rate("weft_http_requests_total", 'route!~"/health|/ready|/metrics"', by="route"), "{{route}}")],
         "By route; probes and scrapes are left out."),
        ("Errors", "reqps", [(rate("weft_http_requests_total", 'status=~"4..|5.."', by="status"), "{{status}}")],
         "429: the queue is full. 503: shutting down, or a limit of connections or bodies. 499: the client left."),
        ("Connections", "short", [(now("weft_connections"), "open")], "Open client connections."),
        ("Trouble with clients", "ops", [(rate("weft_client_disconnects_total"), "left early"),
                                         (rate("weft_connections_refused_total"), "refused"),
                                         (rate("weft_tls_handshakes_failed_total"), "no TLS handshake"),
                                         (rate("weft_unknown_request_fields_total"), "unknown fields")],
         "Events a second."),
    ]),
    ("Experts", [
        ("Load of the experts", "short", [(rate("weft_expert_tokens_total", by="expert"), "{{expert}}")],
         "Tokens a second that chose each expert, all layers together. Empty for models without experts."),
        ("Imbalance", "short", [(f"max by (layer) (weft_expert_imbalance_ratio{{{HERE}}})", "layer {{layer}}")],
         "The busiest expert's tokens over the mean of all, a layer. 1 is even."),
    ]),
]


def panel(identity, title, unit, queries, description, place):
    return {
        "id": identity, "type": "timeseries", "title": title, "description": description, "datasource": SOURCE, "gridPos": place,
        "fieldConfig": {"defaults": {"unit": unit, "min": 0, "custom": {"fillOpacity": 8, "showPoints": "never"}}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi", "sort": "desc"}},
        "targets": [{"refId": chr(ord("A") + index), "datasource": SOURCE, "expr": expression, "legendFormat": name}
                    for index, (expression, name) in enumerate(queries)],
    }


def panels():
    made = []
    top = 0
    for title, row in ROWS:
        made.append({"id": len(made) + 1, "type": "row", "title": title, "collapsed": False, "panels": [],
                     "gridPos": {"x": 0, "y": top, "w": WIDTH, "h": 1}})
        top += 1
        columns = min(len(row), 3)
        for index, (name, unit, queries, description) in enumerate(row):
            line = index // columns
            in_line = min(columns, len(row) - line * columns)
            width = WIDTH // in_line
            place = {"x": index % columns * width, "y": top + line * HEIGHT, "w": width, "h": HEIGHT}
            made.append(panel(len(made) + 1, name, unit, queries, description, place))
        top += -(-len(row) // columns) * HEIGHT
    return made


def dashboard():
    return {
        "uid": "weft", "title": "Weft", "tags": ["weft"], "schemaVersion": 39, "editable": True, "graphTooltip": 1,
        "refresh": "10s", "time": {"from": "now-30m", "to": "now"}, "timezone": "browser",
        "templating": {"list": [
            {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus", "current": {}},
            {"name": "instance", "label": "Server", "type": "query", "datasource": SOURCE, "includeAll": True, "multi": True,
             "refresh": 2, "sort": 1, "current": {"text": ["All"], "value": ["$__all"]},
             "query": {"query": "label_values(weft_connections, instance)", "refId": "instance"}},
        ]},
        "panels": panels(),
    }


if __name__ == "__main__":
    with open(OUTPUT, "w", encoding="utf-8") as file:
        json.dump(dashboard(), file, indent=1)
        file.write("\n")
