//! Which of our own environment variables a job gets to see. Everything else stays with us: tokens, keys, `GIT_*`,
//! `LD_*` and everything of pairflow's own.

use std::ffi::OsString;

/// Who and where.
const PERSON: &str = "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TERM COLORTERM NO_COLOR TMPDIR TZ CI";

/// Where toolchains and their caches live: without them a check would use another compiler than the person does.
const TOOLS: &str = "CARGO_HOME CARGO_TARGET_DIR RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTC_WRAPPER \
    NVM_DIR NVM_BIN PNPM_HOME VOLTA_HOME FNM_DIR FNM_MULTISHELL_PATH COREPACK_HOME BUN_INSTALL DENO_DIR \
    GOPATH GOROOT GOBIN GOCACHE GOMODCACHE GOTOOLCHAIN \
    PYENV_ROOT PYENV_VERSION VIRTUAL_ENV CONDA_PREFIX UV_CACHE_DIR POETRY_HOME \
    JAVA_HOME GRADLE_USER_HOME MAVEN_HOME SDKMAN_DIR RBENV_ROOT GEM_HOME GEM_PATH \
    ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR HOMEBREW_PREFIX NIX_PATH NIX_PROFILES";

/// How to reach a package registry.
const NETWORK: &str = "SSL_CERT_FILE SSL_CERT_DIR NIX_SSL_CERT_FILE \
    HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy";

const PREFIXES: &[&str] = &["LC_", "XDG_"];

/// Whether a job may see the variable `name` of our own environment.
pub fn may_inherit(name: &str) -> bool {
    let named = [PERSON, TOOLS, NETWORK].iter().any(|list| list.split(' ').any(|one| one == name));
    named || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns those of `ours` that a job may see.
pub fn inherited(ours: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    ours.filter(|(name, _)| name.to_str().is_some_and(may_inherit)).collect()
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
        for name in ["PATH", "HOME", "LC_ALL", "XDG_CACHE_HOME", "CARGO_HOME", "PNPM_HOME", "GOPATH", "PYENV_ROOT"] {
            assert!(may_inherit(name), "{name}");
        }
        for name in
            ["PAIRFLOW_TOKEN", "PAIRFLOW_BUBBLE", "GIT_DIR", "LD_PRELOAD", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK"]
        {
            assert!(!may_inherit(name), "{name}");
        }
    }
}
