//! Checks that a database path is in a local, writable directory: SQLite's locks do not hold on a network file system.

use super::fault;
use crate::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// File systems whose locks or shared memory do not hold between machines, by the number `statfs` gives.
const REMOTE: [(u64, &str); 16] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x0102_1997, "9P"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x00c3_6400, "Ceph"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x7461_636f, "OCFS2"),
    (0x0116_1970, "GFS2"),
    (0x564c, "NCP"),
    (0x786f_4256, "VirtualBox shared folder"),
    (0xbacb_acbc, "VMware shared folder"),
];
/// A file system served by a program; its mount type tells which.
const FUSE: u64 = 0x6573_5546;
/// Programs that serve files of another machine.
const REMOTE_FUSE: [&str; 16] = [
    "sshfs",
    "smbnetfs",
    "rclone",
    "s3fs",
    "goofys",
    "gcsfuse",
    "glusterfs",
    "davfs",
    "ceph-fuse",
    "curlftpfs",
    "juicefs",
    "blobfuse",
    "blobfuse2",
    "nfs",
    "mount-s3",
    "seaweedfs",
];

/// The name of the network file system behind these numbers, if it is one; `mount_type` matters for FUSE only.
pub(super) fn remote(magic: u64, mount_type: Option<&str>) -> Option<&'static str> {
    if magic == FUSE {
        let program = mount_type?.strip_prefix("fuse.")?;
        return REMOTE_FUSE.iter().copied().find(|remote| *remote == program);
    }
    REMOTE.iter().find(|(number, _)| *number == magic).map(|(_, name)| *name)
}

/// The real path of a file that can hold a store; refuses others before anything is created.
///
/// Every name of a file leads to the same locks beside it, so links are followed. The result is absolute, since SQLite
/// gives names such as `:memory:` and `file:` a meaning of their own.
pub(super) fn resolve(path: &Path) -> Result<PathBuf> {
    let failed = |error| fault::system(&format!("cannot look at {}", path.display()), error);
    check(path)?;
    if path.exists() {
        return path.canonicalize().map_err(failed);
    }
    let directory = directory_of(path).canonicalize().map_err(failed)?;
    Ok(directory.join(path.file_name().unwrap_or_default()))
}

fn check(path: &Path) -> Result<()> {
    let unsuitable = |message: String| Err(Error::new(ErrorKind::Unsuitable, message).unwritten());
    let directory = directory_of(path);
    let shown = path.display();
    if path.file_name().is_none() {
        return unsuitable(format!("{shown:?} names no file: name one in a local directory"));
    }
    if path.is_dir() {
        return unsuitable(format!("{shown} is a directory: name a file in it"));
    }
    match std::fs::metadata(directory) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return unsuitable(format!("{} is not a directory: choose another path", directory.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let missing = directory.display();
            return unsuitable(format!("the directory {missing} does not exist: create it with `mkdir -p {missing}`"));
        }
        Err(error) => return Err(fault::system(&format!("cannot look at {}", directory.display()), error)),
    }
    if let Some(name) = network_of(directory)? {
        return unsuitable(format!("{shown} is on a network file system ({name}): put the database on a local disk"));
    }
    writable(path, directory)
}

/// The directory a path lies in.
fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn writable(path: &Path, directory: &Path) -> Result<()> {
    use rustix::fs::{Access, access};
    for checked in [path, directory] {
        if !checked.exists() {
            continue;
        }
        if let Err(error) = access(checked, Access::WRITE_OK) {
            let message = format!("{} may only be read: make it writable for this user", checked.display());
            return Err(Error::new(ErrorKind::ReadOnly, message).unwritten().with_source(std::io::Error::from(error)));
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn network_of(directory: &Path) -> Result<Option<&'static str>> {
    let shown = directory.display();
    let failed = |error: rustix::io::Errno| fault::system(&format!("cannot look at {shown}"), error.into());
    let found = rustix::fs::statfs(directory).map_err(failed)?;
    #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast, clippy::cast_possible_truncation)]
    let magic = u64::from(found.f_type as u32); // The kernel's numbers have 32 bits; the type's width varies.
    Ok(remote(magic, mount_type(directory).as_deref()))
}

#[cfg(not(target_os = "linux"))]
fn network_of(_directory: &Path) -> Result<Option<&'static str>> {
    Ok(None)
}

/// The type of the mount a directory is on, as the kernel lists it.
#[cfg(target_os = "linux")]
fn mount_type(directory: &Path) -> Option<String> {
    let device = rustix::fs::stat(directory).ok()?.st_dev;
    let wanted = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some(wanted.as_str()))?;
    let (_, behind) = line.split_once(" - ")?;
    behind.split(' ').next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_told_from_local_ones() {
        let cases: [(u64, Option<&str>, bool); 14] = [
            (0x6969, Some("nfs4"), true),
            (0xff53_4d42, Some("cifs"), true),
            (0xfe53_4d42, None, true),
            (0x0102_1997, Some("9p"), true),
            (0x00c3_6400, Some("ceph"), true),
            (FUSE, Some("fuse.sshfs"), true),
            (FUSE, Some("fuse.gcsfuse"), true),
            (FUSE, Some("fuseblk"), false),
            (FUSE, Some("fuse.fuse-overlayfs"), false),
            (FUSE, None, false),
            (0xef53, Some("ext4"), false),
            (0x5846_5342, Some("xfs"), false),
            (0x9123_683e, Some("btrfs"), false),
            (0x0102_1994, Some("tmpfs"), false),
        ];
        for (magic, mount, refused) in cases {
            assert_eq!(remote(magic, mount).is_some(), refused, "{magic:#x} {mount:?}");
        }
    }

    #[test]
    fn this_machine_is_local() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(network_of(directory.path()).unwrap(), None);
        assert!(!cfg!(target_os = "linux") || mount_type(Path::new("/proc")).as_deref() == Some("proc"));
    }

    #[test]
    fn missing_directories_and_wrong_kinds_of_files_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let refused = |path: &Path| check(path).unwrap_err();
        let missing = refused(&directory.path().join("not/here.db"));
        assert_eq!(missing.kind(), ErrorKind::Unsuitable);
        assert!(missing.to_string().contains("mkdir -p"), "{missing}");
        assert_eq!(refused(directory.path()).kind(), ErrorKind::Unsuitable);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
