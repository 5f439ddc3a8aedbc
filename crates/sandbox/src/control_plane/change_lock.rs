//! Lets one client at a time change a sandbox.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use super::error::Error;
use super::event::LifecycleEvent;
use super::layout::{Layout, Name, open_private};
use crate::folder;
use crate::lock::{self, is_at};

/// The right to change a sandbox; released when it is dropped, or by the kernel when its holder dies.
#[derive(Debug)]
pub(crate) struct ChangeLock {
    /// Closing it releases the lock.
    file: File,
    path: PathBuf,
}

impl ChangeLock {
    /// Waits until no other client is changing the sandbox.
    pub(crate) fn wait(
        layout: &Layout,
        name: &Name,
        on_event: &mut dyn FnMut(LifecycleEvent),
    ) -> Result<Self, Error> {
        let path = layout.lock();
        let parent = path.parent().expect("the lock is beside the sandbox's folder");
        folder::create_private(parent).map_err(Error::files("write to", parent))?;
        let on_wait = || on_event(LifecycleEvent::Waiting { name: name.clone() });
        let file = lock::wait(&path, || open_private(&path), on_wait).map_err(Error::files("lock", &path))?;
        Ok(Self { file, path })
    }

    /// Takes the lock if it is free.
    pub(crate) fn try_take(layout: &Layout) -> io::Result<Option<Self>> {
        let path = layout.lock();
        let file = open_private(&path)?;
        Ok((file.try_lock().is_ok() && is_at(&file, &path)).then_some(Self { file, path }))
    }

    /// Removes the lock file of a sandbox that is gone.
    pub(crate) fn remove(self) {
        // A file that stays behind does no harm.
        let _ = fs::remove_file(&self.path);
        drop(self.file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_lock_survives_the_removal_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path().join("x"));
        let name = Name::default();
        let first = ChangeLock::wait(&layout, &name, &mut |_| ()).unwrap();
        assert!(ChangeLock::try_take(&layout).unwrap().is_none());
        std::thread::scope(|scope| {
            let mut first = Some(first);
            let (waits, waiting) = std::sync::mpsc::channel();
            let second = scope.spawn(|| {
                let waits = waits;
                ChangeLock::wait(&layout, &name, &mut |_| waits.send(()).unwrap()).unwrap()
            });
            waiting.recv().unwrap();
            first.take().unwrap().remove();
            let second = second.join().unwrap();
            assert!(layout.lock().exists());
            assert!(
                ChangeLock::try_take(&layout).unwrap().is_none(),
                "the second client holds the lock on the new file"
            );
            second.remove();
        });
        assert!(!layout.lock().exists());
    }
}
