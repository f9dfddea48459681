//! Kernel metadata that are parsed on another thread before the text is read up to them.

use gcn_object::metadata::{self, Faithful, MetadataError};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread::Scope;

/// A text of kernel metadata and its parsed form, which need not be parsed again.
#[derive(Clone, Debug)]
pub struct KnownMetadata(Faithful);

impl KnownMetadata {
    /// The metadata of a note's descriptor; `None` if no text gives exactly the same descriptor.
    pub fn of_note(descriptor: &[u8]) -> Option<KnownMetadata> {
        metadata::faithful(descriptor).map(KnownMetadata)
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Returns the descriptor and the minor version of the metadata.
    pub(crate) fn made(&self) -> Made {
        Ok((self.0.descriptor.clone(), self.0.minor))
    }
}

/// The result of [`metadata::assemble`].
pub(crate) type Made = Result<(Arc<Vec<u8>>, Option<u64>), MetadataError>;

/// Assembles a text.
pub(crate) fn made(text: &str) -> Made {
    metadata::assemble(text).map(|(descriptor, minor)| (Arc::new(descriptor), minor))
}

/// The metadata of a text, which another thread parses.
pub(crate) struct Ahead<'s>(Receiver<(&'s str, Made)>);

/// The directives around metadata.
const BEGIN: &str = ".amdgpu_metadata";
pub(crate) const END: &str = ".end_amdgpu_metadata";

impl<'s> Ahead<'s> {
    /// Starts a thread that reads the last block of metadata in a text.
    pub fn start<'scope>(scope: &'scope Scope<'scope, '_>, source: &'s str) -> Option<Ahead<'s>>
    where
        's: 'scope,
    {
        let (sender, receiver) = std::sync::mpsc::channel();
        let read = move || {
            let Some(at) = source.rfind(BEGIN) else {
                return;
            };
            let rest = &source[at..];
            let text = rest.split_once('\n').map_or("", |(_, text)| text);
            if let Some(end) = end_of(text, END) {
                let text = &text[..end];
                // The receiver is dropped if another error ended the reading.
                let _ = sender.send((text, made(text)));
            }
        };
        let started = std::thread::Builder::new().spawn_scoped(scope, read);
        started.ok().map(|_| Ahead(receiver))
    }

    /// Returns the result for a text, if it is the one that was parsed.
    pub fn made(self, text: &str) -> Option<Made> {
        let (read, made) = self.0.recv().ok()?;
        (read == text).then_some(made)
    }
}

/// Returns the start of the first line that begins with a word, apart from blanks.
pub(crate) fn end_of(text: &str, word: &str) -> Option<usize> {
    let mut before = 0;
    text.match_indices(word).find_map(|(at, _)| {
        // A second occurrence in a line is not at its start.
        let from = std::mem::replace(&mut before, at + word.len());
        let line = match text[from..at].rfind('\n') {
            Some(n) => from + n + 1,
            None if from == 0 => 0,
            None => return None,
        };
        (text[line..at].trim_start().is_empty()).then_some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, assemble};

    #[test]
    fn a_block_ends_with_the_line_that_begins_so() {
        for (text, end) in [
            ("END", Some(0)),
            ("  END", Some(0)),
            ("a\n END b END", Some(2)),
            ("a END\nEND", Some(6)),
            ("a END END\n\t\r END", Some(10)),
            ("a END", None),
            ("", None),
        ] {
            assert_eq!(end_of(text, "END"), end, "{text:?}");
        }
    }

    /// Metadata with a kernel; `what` follows its name.
    fn block(what: &str) -> String {
        let mut text = String::from("---\namdhsa.kernels:\n");
        text.push_str("  - .group_segment_fixed_size: 0\n    .kernarg_segment_align: 8\n");
        text.push_str("    .kernarg_segment_size: 8\n    .max_flat_workgroup_size: 256\n");
        text.push_str(&format!("    .name:           k{what}\n"));
        text.push_str("    .private_segment_fixed_size: 0\n    .sgpr_count:     8\n");
        text.push_str("    .symbol:         k.kd\n    .vgpr_count:     1\n");
        text.push_str("    .wavefront_size: 64\namdhsa.version:\n  - 1\n  - 1\n...\n");
        text
    }

    #[test]
    fn a_thread_gives_what_reading_in_order_gives() {
        let long = "\ts_nop 0\n".repeat(crate::asm::MOST_PART / 8);
        let wrong = "    .size: [\n";
        for end in [
            format!("\t.amdgpu_metadata\n{}\t.end_amdgpu_metadata\n", block("")),
            // The last block is not the relevant one, or is not a block.
            format!(
                ".amdgpu_metadata\n{}.end_amdgpu_metadata\n// .amdgpu_metadata\n// .end_amdgpu_metadata\n",
                block("a")
            ),
            format!(
                ".amdgpu_metadata\n{}{wrong}.end_amdgpu_metadata\n",
                block("")
            ),
            format!(".amdgpu_metadata\n{}", block("")),
            "// .amdgpu_metadata".into(),
            String::new(),
        ] {
            let source = format!(".amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"\n{long}{end}");
            let on = |threads| {
                let options = Options {
                    threads,
                    ..Options::default()
                };
                let output = assemble(&source, "a.s", &options);
                (
                    output.object.map(|o| (o.metadata, o.version)),
                    output.diagnostics,
                )
            };
            assert_eq!(on(2), on(1), "{end}");
        }
    }

    #[test]
    fn known_metadata_are_taken_for_their_text_alone() {
        let (note, _) = metadata::assemble(&block("")).expect("metadata");
        let known = KnownMetadata::of_note(&note).expect("faithful");
        assert_eq!(known.text(), block(""));
        let options = Options {
            metadata: Some(std::sync::Arc::new(known)),
            ..Options::default()
        };
        for what in ["", "b"] {
            let text = block(what);
            let source = format!(".arch gfx900\n.amdgpu_metadata\n{text}.end_amdgpu_metadata\n");
            let output = assemble(&source, "a.s", &options);
            let made = output.object.expect("no errors").metadata;
            assert_eq!(made, super::made(&text).ok().map(|(note, _)| note));
        }
    }
}
