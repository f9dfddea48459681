//! An analysis as JSON (docs/json.md).

use serde_json::{Map, Value, json};

use crate::chip::Chip;
use crate::{Analysis, Instruction, KernelOccupancy, LoopInfo, Peak};

/// The kernels of a file, and the kind of each figure.
pub fn all(kernels: &[Analysis], chip: &Chip) -> Value {
    let kernels: Vec<Value> = kernels.iter().map(Analysis::json).collect();
    json!({
        "chip": {
            "name": chip.name,
            "target": chip.target.name(),
            "double_rate": format!("1/{}", chip.double_rate()),
        },
        "kinds": {
            "occupancy": "modelled",
            "live_vgprs": "counted",
            "live_sgprs": "counted",
            "waits_for": "counted",
            "issue_cycles": "modelled",
            "stall_cycles": "modelled",
            "exposed_stall_cycles": "modelled",
            "stalls": "modelled",
            "loops.cycles": "modelled",
            "executions": "measured",
            "iterations": "measured",
        },
        "kernels": kernels,
    })
}

fn peak(peak: &Peak) -> Value {
    json!({"count": peak.count, "at": peak.at, "registers": peak.registers})
}

impl KernelOccupancy {
    /// As JSON.
    pub fn json(&self) -> Value {
        let o = &self.occupancy;
        json!({
            "waves_per_simd": o.waves(),
            "limited_by": o.limited_by(),
            "vgpr": {
                "used": self.used.0,
                "allocated": o.vgprs,
                "waves": o.by_vgprs,
                "fewer_for_next": self.fewer_vgprs,
            },
            "sgpr": {
                "used": self.used.1,
                "allocated": o.sgprs,
                "waves": o.by_sgprs,
                "fewer_for_next": self.fewer_sgprs,
            },
            "lds": {
                "allocated": o.lds,
                "waves": o.by_lds,
                "fewer_for_next": self.fewer_lds,
            },
            "workgroups": {
                "workgroup_waves": o.workgroup_waves,
                "waves": o.by_workgroups,
            },
        })
    }
}

impl Analysis {
    /// As JSON.
    pub fn json(&self) -> Value {
        let instructions: Vec<Value> = (self.instructions.iter())
            .map(|i| instruction(i, self.exposed(i.stall)))
            .collect();
        let stalls = self.stalls();
        let loops: Vec<Value> = self.loops.iter().map(|l| self.loop_json(l)).collect();
        let block = |b: &crate::BlockInfo| {
            let pc = |block: usize| self.instructions[self.blocks[block].first].pc;
            let next: Vec<Value> = (b.next.iter())
                .map(|e| json!({"to": pc(e.to), "kind": if e.taken { "taken" } else { "next" }}))
                .collect();
            json!({
                "start": self.instructions[b.first].pc,
                "last": self.instructions[b.last].pc,
                "next": next,
                "depth": b.depth,
                "issue_cycles": b.cycles.0,
                "most_issue_cycles": b.cycles.1,
            })
        };
        let blocks: Vec<Value> = self.blocks.iter().map(block).collect();
        let irreducible: Vec<Value> = (self.irreducible.iter())
            .map(|(from, to)| json!({"from": from, "to": to}))
            .collect();
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| out.insert(key.to_string(), value);
        put("name", self.name.as_str().into());
        let occupancy = self.occupancy.as_ref();
        put(
            "occupancy",
            occupancy.map_or(Value::Null, KernelOccupancy::json),
        );
        put("liveness", self.bound.name().into());
        put("peak_vgprs", peak(&self.vgprs));
        put("peak_sgprs", peak(&self.sgprs));
        put(
            "entry",
            self.instructions[self.blocks[self.entry].first].pc.into(),
        );
        put(
            "stalls",
            json!({
                "instructions": stalls.instructions,
                "cycles": stalls.cycles,
                "exposed_cycles": stalls.exposed,
            }),
        );
        put("instructions", instructions.into());
        put("blocks", blocks.into());
        put("loops", loops.into());
        put("irreducible", irreducible.into());
        if let Some(issued) = self.issued() {
            put("issued_cycles", issued.into());
        }
        Value::Object(out)
    }

    fn loop_json(&self, found: &LoopInfo) -> Value {
        let pc = |block: &usize| self.instructions[self.blocks[*block].first].pc;
        let blocks: Vec<u64> = found.blocks.iter().map(pc).collect();
        let mut json = json!({
            "header": found.header,
            "latches": found.latches,
            "blocks": blocks,
            "depth": found.depth,
            "parent": found.parent.map(|n| self.loops[n].header),
            "instructions": found.instructions,
            "cycles": found.cycles.0,
            "most_cycles": found.cycles.1,
            "live_vgprs": found.live.0,
            "live_sgprs": found.live.1,
        });
        if let Some(iterations) = found.iterations {
            json["iterations"] = iterations.into();
        }
        json
    }
}

fn instruction(i: &Instruction, exposed: u32) -> Value {
    let mut json = json!({
        "pc": i.pc,
        "text": i.text,
        "issue_cycles": i.cycles,
        "live_vgprs": i.live_vgprs,
        "live_sgprs": i.live_sgprs,
        "waits_for": i.waits_for,
        "line": i.line,
        "cycles_from": if i.listed { "table" } else { "similar" },
    });
    if i.most_cycles != i.cycles {
        json["most_issue_cycles"] = i.most_cycles.into();
    }
    if i.stall != 0 {
        json["stall_cycles"] = i.stall.into();
        json["exposed_stall_cycles"] = exposed.into();
    }
    if let Some(per) = i.lds_throughput {
        json["lds_throughput"] = format!("1/{per}").into();
    }
    if let Some(counts) = i.counts {
        json["executions"] = counts.times.into();
        if let Some(lanes) = counts.lanes {
            json["lanes"] = lanes.into();
        }
    }
    json
}
