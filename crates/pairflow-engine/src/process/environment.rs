//! Which of our own environment variables a job gets to see: checks, the setup command, reproducers, commit hooks.
//!
//! The list below is all of them. Everything else stays with us: tokens, keys, agents that hold keys, `GIT_*`, `LD_*`,
//! everything of pairflow's own, and the passwords of proxies.

use std::ffi::OsString;

/// Who and where.
const PERSON: &str = "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TERM COLORTERM NO_COLOR TMPDIR TZ CI";

/// Where tools look for their files. The directory of sockets and the one of states are not among them.
const DIRECTORIES: &str = "XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME";

/// Where toolchains and their caches live: without them a check would use another compiler than the person does.
const TOOLS: &str = "CARGO_HOME CARGO_TARGET_DIR RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTC_WRAPPER \
    NVM_DIR NVM_BIN PNPM_HOME VOLTA_HOME FNM_DIR FNM_MULTISHELL_PATH COREPACK_HOME BUN_INSTALL DENO_DIR \
    GOPATH GOROOT GOBIN GOCACHE GOMODCACHE GOTOOLCHAIN \
    PYENV_ROOT PYENV_VERSION VIRTUAL_ENV CONDA_PREFIX UV_CACHE_DIR POETRY_HOME \
    JAVA_HOME GRADLE_USER_HOME MAVEN_HOME SDKMAN_DIR RBENV_ROOT GEM_HOME GEM_PATH \
    ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR HOMEBREW_PREFIX NIX_PATH NIX_PROFILES";

/// How to reach a package registry.
const NETWORK: &str = "SSL_CERT_FILE SSL_CERT_DIR NIX_SSL_CERT_FILE NO_PROXY no_proxy";

/// How to reach it through a proxy; names and passwords in them are left out.
const PROXIES: &str = "HTTP_PROXY HTTPS_PROXY http_proxy https_proxy";

const PREFIXES: &[&str] = &["LC_"];

/// Whether a job may see the variable `name` of our own environment.
pub fn may_inherit(name: &str) -> bool {
    let lists = [PERSON, DIRECTORIES, TOOLS, NETWORK, PROXIES];
    lists.iter().any(|list| lists_name(list, name)) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns those of `ours` that a job may see.
pub fn inherited(ours: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let seen = |(name, value): (OsString, OsString)| {
        let text = name.to_str().filter(|name| may_inherit(name))?;
        // A proxy that is no text may hold a password as well.
        let value = if lists_name(PROXIES, text) { without_password(value.to_str()?).into() } else { value };
        Some((name, value))
    };
    ours.filter_map(seen).collect()
}

fn lists_name(list: &str, name: &str) -> bool {
    list.split(' ').any(|one| one == name)
}

/// Returns the address of a proxy without the name and the password that it may hold.
fn without_password(proxy: &str) -> String {
    let (scheme, rest) = proxy.split_once("://").map_or(("", proxy), |(scheme, rest)| (scheme, rest));
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    if scheme.is_empty() { host.to_owned() } else { format!("{scheme}://{host}") }
}

/// Returns our own environment as text; what is none is left out.
pub(crate) fn environment() -> Vec<(String, String)> {
    as_text(std::env::vars_os())
}

fn as_text(ours: impl Iterator<Item = (OsString, OsString)>) -> Vec<(String, String)> {
    ours.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_is_no_text_is_left_out() {
        use std::os::unix::ffi::OsStringExt;
        let odd = || OsString::from_vec(vec![b'a', 0xff]);
        let ours = [("A".into(), "b".into()), ("C".into(), odd()), (odd(), "d".into())];
        assert_eq!(as_text(ours.into_iter()), [("A".to_owned(), "b".to_owned())]);
    }

    #[test]
    fn a_job_sees_where_its_tools_are_and_nothing_secret() {
        for name in [
            "PATH",
            "HOME",
            "LC_ALL",
            "XDG_CACHE_HOME",
            "https_proxy",
            "CARGO_HOME",
            "PNPM_HOME",
            "GOPATH",
            "PYENV_ROOT",
        ] {
            assert!(may_inherit(name), "{name}");
        }
        for name in
            ["PAIRFLOW_TOKEN", "GIT_DIR", "LD_PRELOAD", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR"]
        {
            assert!(!may_inherit(name), "{name}");
        }
    }

    #[test]
    fn a_proxy_is_handed_on_without_its_password() {
        for (proxy, expected) in [
            ("http://ada:secret@proxy:3128", "http://proxy:3128"),
            ("ada:se@cret@proxy:3128", "proxy:3128"),
            ("http://ada:a/b@proxy/", "http://proxy/"),
            ("http://proxy:3128/", "http://proxy:3128/"),
        ] {
            let ours = [("https_proxy".into(), proxy.into())];
            assert_eq!(inherited(ours.into_iter()), [("https_proxy".into(), OsString::from(expected))]);
        }
    }
}
