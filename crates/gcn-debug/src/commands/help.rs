//! The commands and their help.

use crate::session::Error;

/// A command.
pub struct Command {
    /// Its name.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// Its parameters, as the help shows them.
    pub takes: &'static str,
    /// Its help text.
    pub about: &'static str,
    /// An empty line repeats it.
    pub repeats: bool,
}

const fn command(
    name: &'static str,
    aliases: &'static [&'static str],
    takes: &'static str,
    repeats: bool,
    about: &'static str,
) -> Command {
    Command {
        name,
        aliases,
        takes,
        about,
        repeats,
    }
}

/// All commands, in the order of `help`.
#[rustfmt::skip]
pub const COMMANDS: &[Command] = &[
    command("break", &["b"], "LOC [workgroup X,Y,Z] [wave N] [if EXPR]", false,
        "stop before the instruction at LOC: an address as `gcn dis` prints it, NAME, NAME+0x10, FILE:LINE"),
    command("watch", &[], "[write] WHAT [if EXPR]", false,
        "stop after an instruction that changes WHAT, or with `write` writes it: v3[17], s4, exec, lds A,N, mem A,N"),
    command("delete", &["d"], "[N…]", false, "delete breakpoints and watchpoints, or all"),
    command("run", &["r"], "", false, "go to the beginning, and continue"),
    command("continue", &["c"], "[wave|workgroup|alone|alone workgroup]", true,
        "run until something stops; with `wave` or `workgroup` only what stops in the selected one counts; with `alone` only that runs"),
    command("step", &["s", "si", "stepi"], "[N]", true, "execute an instruction of the selected wave"),
    command("next", &["n", "ni", "nexti"], "[N]", true, "execute an instruction, and all of what it calls"),
    command("line", &[], "[N]", true, "run to the wave's next source line, over calls"),
    command("finish", &["fin"], "", false, "run until the current function returns"),
    command("until", &["u"], "LOC [if EXPR]", false, "run to LOC once"),
    command("reverse-step", &["rs", "rsi", "reverse-stepi"], "[N]", true, "undo an instruction of the selected wave"),
    command("reverse-next", &["rn", "rni", "reverse-nexti"], "[N]", true, "undo an instruction, and all of what it called"),
    command("reverse-line", &["rl"], "[N]", true, "go back to the beginning of a source line"),
    command("reverse-finish", &["rf"], "", false, "go back to the call of the current function"),
    command("reverse-continue", &["rc"], "", true, "run backwards until something stops"),
    command("goto", &[], "TICK|LAUNCH:TICK", false, "go to a moment, as `where` shows them"),
    command("turn", &[], "", false, "let the selected wave run next, before the others: a change, as `set`"),
    command("wave", &["w"], "[N]", false, "select a wave of the workgroup"),
    command("workgroup", &["wg"], "[X,Y,Z]", false, "select a workgroup, and its first wave"),
    command("waves", &[], "", false, "the waves that have begun: where they are, and what they wait for"),
    command("where", &[], "", false, "the selected wave, its next instruction, and the moment"),
    command("backtrace", &["bt"], "", false, "the calls that the wave is in"),
    command("up", &[], "[N]", true, "select the function that called, for `list`, `x/i` and `break`"),
    command("down", &[], "[N]", true, "select the function that was called"),
    command("frame", &["f"], "[N]", false, "select a function by its number in `backtrace`"),
    command("print", &["p"], "[/x|/d|/u|/f] EXPR", false, "EXPR = VALUE; a VGPR without a lane prints all lanes"),
    command("regs", &["registers"], "[v|all]", false, "the scalar registers; `v` the VGPRs"),
    command("lanes", &[], "vN [x|d|u|f]", false, "a VGPR, lane by lane; inactive lanes in parentheses"),
    command("lds", &[], "A,N", false, "N bytes of the workgroup's LDS"),
    command("mem", &[], "A,N", false, "N bytes of memory"),
    command("x", &[], "/Ni [LOC] | /Nw A | /Nf A", true, "N instructions, dwords or floats"),
    command("set", &[], "WHAT = EXPR", false, "change a register or memory; a new history begins"),
    command("who", &[], "[wrote] WHAT", false,
        "the instruction that wrote WHAT last: v3[17], s4, vcc, 0xADDRESS (a byte), mem A,N, lds A,N"),
    command("back", &[], "[WHAT]", false, "go back to that instruction: it is next"),
    command("trace", &[], "[N]", true, "step N instructions, and show what each wrote"),
    command("list", &["l"], "[LOC]", false, "source around the wave, or instructions where there is none"),
    command("info", &["i"], "breakpoints|buffers|launch|history", false, "what is set, and where things are"),
    command("help", &["h"], "[COMMAND]", false, "this"),
    command("quit", &["q", "exit"], "", false, "leave; a program that is debugged goes on without the debugger"),
    command("kill", &[], "", false, "leave, and end the program that is debugged"),
];

/// The command with a name, with an alias, or with the only name that begins with this text.
pub(super) fn find(word: &str) -> Result<&'static Command, Error> {
    let exact = |c: &&Command| c.name == word || c.aliases.contains(&word);
    if let Some(found) = COMMANDS.iter().find(exact) {
        return Ok(found);
    }
    let fits: Vec<&Command> = (COMMANDS.iter())
        .filter(|c| !word.is_empty() && c.name.starts_with(word))
        .collect();
    match fits.as_slice() {
        [one] => Ok(one),
        [] => Err(format!("there is no command `{word}`; `help` lists them").into()),
        many => {
            let names: Vec<&str> = many.iter().map(|c| c.name).collect();
            Err(format!("`{word}` is short for {}", names.join(", ")).into())
        }
    }
}

fn head(command: &Command) -> String {
    let mut names = vec![command.name];
    names.extend(command.aliases);
    let text = format!("{} {}", names.join(", "), command.takes);
    text.trim_end().to_owned()
}

pub(super) fn text(word: &str) -> Result<String, Error> {
    if !word.is_empty() {
        let command = find(word)?;
        return Ok(format!("{}\n    {}\n", head(command), command.about));
    }
    let lines = COMMANDS.iter().map(|c| {
        let head = head(c);
        match head.len() {
            ..=34 => format!("{head:<36}{}\n", c.about),
            _ => format!("{head}\n{:36}{}\n", "", c.about),
        }
    });
    Ok(lines.collect())
}
