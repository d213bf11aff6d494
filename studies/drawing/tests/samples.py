"""Small tables of each kind, as the commands write them, and what the studies draw of them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from drawing.drawn import Drawn

ROOT = Path(__file__).parents[2]


def of_study(name: str) -> tuple[Drawn, ...]:
    """Return what a study draws, as its draw.py states it."""
    file = ROOT / name / "draw.py"
    spec = importlib.util.spec_from_file_location(f"draw_{name.replace('-', '_')}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(file.parent))
    drawn: tuple[Drawn, ...] = module.DRAWN
    return drawn


# The studies that draw what they state.
STUDIES = {
    file.parent.name: file.parent
    for file in sorted(ROOT.glob("*/draw.py"))
    if "DRAWN = " in file.read_text(encoding="utf-8")
}

FIGURE2 = """\
nodes,window_percent,runs,age_avg_units,age_avg_expected_units,deviation_percent,age_max_units,\
age_max_expected_units,age_p99_units
128,10,16,12.643,12.60,0.34,56.60,,50.80
128,20,16,7.792,7.80,-0.10,28.60,28.7,26.60
1024,10,8,14.194,14.20,-0.04,73.10,,50.30
1024,20,8,9.810,,,39.80,,28.40
"""
AGES = """\
strategy,nodes,window_percent,runs,interval_ms,age_avg_units,age_avg_error_units,age_avg_s,\
age_p99_s,age_max_s,age_avg_said_s
uniform,1024,20,16,64,9.801,0.0037,0.62727,1.81362,2.54676,
uniform,1024,20,16,256,9.801,0.0037,2.50917,7.25447,10.18703,2-3
uniform,8192,20,2,64,11.869,,0.75962,1.94493,3.27478,
uniform,8192,20,2,256,11.869,,3.03846,7.77972,13.09913,2-3
"""
FAILURES = """\
strategy,nodes,runs,loss_percent,crashed_percent,age_avg_units,age_avg_error_units,age_p99_units,\
age_max_units,heard_share,fresh_share,full_view_units,threshold_units,older_share,\
noticed_avg_units,noticed_everywhere_avg_units,noticed_everywhere_max_units
uniform,128,64,0,0,7.800,0.0048,26.60,28.65,1.000000,0.9641,55.3,70.59,9.996e-7,,,
uniform,128,64,30,0,11.409,0.0117,39.24,42.56,0.999949,0.8756,83.3,70.59,1.375e-4,,,
uniform,128,64,0,1,7.823,0.0049,26.64,28.65,1.000000,0.9639,55.3,70.59,1.074e-6,65.61,70.10,70.58
uniform,128,64,0,50,10.724,0.0197,31.88,29.69,0.999999,0.9179,55.2,70.59,7.014e-6,65.49,69.74,70.59
"""
BUSY = """\
nodes,window_percent,entry_bytes,datagram_bytes,units,send_us,receive_us,unit_us,\
unit_lower_quartile_us,unit_upper_quartile_us,interval_ms,busy_share,possible
1024,20,1024,1452,400,386.4,414.8,794.2,782.7,794.2,1,0.794200,yes
1024,20,1024,1452,400,386.4,414.8,794.2,782.7,794.2,256,0.003102,yes
8192,20,1024,1452,400,3100.0,3300.0,6400.0,6390.0,6410.0,1,6.400000,no
8192,20,1024,1452,400,3100.0,3300.0,6400.0,6390.0,6410.0,256,0.025000,yes
"""
STRATEGIES = """\
strategy,nodes,window_percent,loss,dead_percent,clock_error_ms,runs,age_avg_units,age_p50_units,\
age_p99_units,age_max_units,age_highest_units,news_share,bytes_per_unit,messages_per_unit,\
datagrams_per_unit,never_heard_pairs
uniform,1024,20,0,0,0,4,9.801,8.5,28.34,39.79,80.0,0.800,16000,1.00,12.00,0
grid,1024,20,0,0,0,4,4.056,4.0,8.18,8.31,9.0,0.990,16000,12.00,12.00,0
uniform,1024,20,0.1,0,0,4,10.965,9.0,31.85,44.92,90.0,0.800,16000,1.00,12.00,0
uniform,1024,20,0,0,3600000,4,9.801,8.5,28.34,39.79,80.0,0.800,16000,1.00,12.00,0
"""
DEATHS = """\
strategy,host,loss_percent,crashes,known_to_all,half_ms,all_ms,all_p99_ms,all_worst_ms,false_deaths
grid,refuses,0,20,20,318.4,366.2,721.0,721.0,0
uniform,silent,10,20,20,3260.1,3762.0,5094.9,5094.9,0
"""
DEATHS_AGENTS = """\
end,loss_percent,kill,host,others,half_ms,all_ms
killed,0,1,4,47,310,402
killed,0,2,11,47,290,380
killed,0,3,18,47,520,850
without power,10,1,4,47,330,611
"""
DEATHS_HOUR = """\
seed,nodes,interval,units,datagrams,lost,age_avg_units,mistaken,suspicions,suspicions_cleared,\
probes,pairs_checked,understated_ages,lowered_entries,trace_hash
1,64,256ms,1000,76800,7680,4.346,0,1234,1234,32000,1753974,0,0,80c5
"""
STARVED = """\
agents,phase,time_s,age_avg_ms,age_max_ms,estranged_pairs
16,before,0.26,400.0,900.0,0
16,before,0.51,420.0,1000.0,0
16,starved,0.26,500.0,1500.0,0
16,starved,0.51,730.0,1200.0,2
16,after,0.06,600.0,1300.0,1
16,after,0.16,600.0,1000.0,0
16,after,0.26,410.0,900.0,0
16,after,0.36,410.0,900.0,0
16,after,0.46,410.0,900.0,0
16,after,0.51,410.0,900.0,0
"""
OVERHEAD = """\
application,nodes,ranks,arm,interval_ms,window,entry_bytes,runs,failed,pairs,contaminated,seconds,\
baseline_seconds,slowdown,slowdown_low,slowdown_high,floor,p,p_holm,verdict,mpi_share,\
baseline_mpi_share,busy_share,busy_share_most,age_avg_ms,age_max_ms,messages_dropped
fft,2,4,asleep,,,,80,0,39,1,1.500000000,1.500000000,0.000100000,-0.002000000,0.002200000,\
0.002200000,,,baseline,0.600000000,0.600000000,,,,,
fft,2,4,none,,,,40,0,40,0,1.499000000,1.500000000,-0.000700000,-0.002500000,0.001000000,\
0.002200000,0.400000000,0.400000000,within noise,0.590000000,0.600000000,,,,,
fft,2,4,gossip,256,20%,64,40,0,40,0,1.501000000,1.500000000,0.000700000,-0.001000000,0.002400000,\
0.002200000,0.300000000,0.600000000,within noise,0.600000000,0.600000000,0.000200000,\
0.0003,400,900,0
fft,2,4,gossip,256,40%,64,40,0,40,0,1.502000000,1.500000000,0.001300000,-0.000700000,0.002600000,\
0.002200000,0.300000000,0.600000000,within noise,0.600000000,0.600000000,0.000400000,\
0.0003,300,800,0
fft,2,4,gossip,4,20%,64,40,0,40,0,1.540000000,1.500000000,0.026700000,0.021000000,0.031000000,\
0.002200000,0.000010000,0.000030000,slower,0.620000000,0.600000000,0.012000000,0.0130,7,14,0
fft,2,4,gossip,4,40%,64,38,2,38,0,1.600000000,1.500000000,0.066700000,0.061000000,0.071000000,\
0.002200000,0.000010000,0.000030000,slower,0.640000000,0.600000000,0.024000000,0.0260,6,12,0
"""

REPRODUCTION = """\
application,nodes,interval_ms,window_percent,slowdown_percent,mpi_share
fft,64,64,10,0.1740,0.57
fft,64,64,20,0.3,0.57
fft,64,64,20,0.4,0.57
fft,64,8,10,1.25,0.57
fft,64,64,80,1.4754,0.57
ptrans,64,64,20,0.2784,0.8
proxy,64,64,20,0.0000,0.2
"""

TASKS = """\
work,system,repetition,figure,value,unit,at_least,busy_before
no-op,ProcessPoolExecutor,1,rate,9012.5,tasks/s,no,0.01
no-op,ProcessPoolExecutor,2,rate,9200,tasks/s,no,0.02
no-op,"Tidings, file",1,rate,6100,tasks/s,no,0.01
no-op,Ray,1,rate,2022,tasks/s,no,0.01
worker killed,"Tidings, workers",1,lost,0.15,s,no,0.01
worker killed,"NATS, lease of 30 s",1,lost,29.6,s,no,0.01
coordinator killed,"Tidings, workers",1,pause,0.11,s,no,0.01
coordinator killed,Dask,1,pause,30,s,yes,0.01
worker frozen,"Tidings, workers",1,elsewhere,3.1,s,no,0.01
worker frozen,Dask,1,elsewhere,30,s,yes,0.01
"""

ALL = {
    "figure2": FIGURE2,
    "ages": AGES,
    "failures": FAILURES,
    "busy": BUSY,
    "strategies": STRATEGIES,
    "deaths": DEATHS,
    "deaths-agents": DEATHS_AGENTS,
    "deaths-hour": DEATHS_HOUR,
    "starved": STARVED,
    "overhead": OVERHEAD,
    "reproduction": REPRODUCTION,
    "tasks": TASKS,
}

# Of each kind of table, the study that draws it, and what it draws.
DRAWN = {
    kind: (study, of_study(study)[at])
    for kind, study, at in (
        ("figure2", "figure-2", 0),
        ("ages", "ages", 0),
        ("failures", "losses", 0),
        ("busy", "busy-share", 0),
        ("strategies", "freshness", 0),
        ("deaths", "deaths", 0),
        ("deaths-agents", "deaths", 1),
        ("deaths-hour", "deaths", 2),
        ("starved", "faults", 0),
        ("overhead", "overhead-here", 0),
        ("reproduction", "overhead-simulated", 0),
        ("tasks", "tasks-peers", 0),
    )
}
