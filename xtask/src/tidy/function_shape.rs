//! A function has at most 70 lines, five arguments and four levels of nesting.
//!
//! Nesting counts `if`, `match`, loops, the `else` of a `let` and closures with a block; an `else if` is as deep as its
//! `if`. A function inside a function starts again at nought.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::tree::{File, Problem, Tree};

const MOST_LINES: usize = 70;
const MOST_ARGUMENTS: usize = 5;
const MOST_NESTING: usize = 4;

/// Reports functions that are too long, too wide or too deep.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (file, rust) in tree.rust() {
        let mut judge = Judge { file, fixed_by_trait: false, problems: Vec::new() };
        judge.visit_file(&rust.syntax);
        problems.extend(judge.problems);
    }
    problems
}

/// Walks over all functions of a file.
struct Judge<'a> {
    file: &'a File,
    /// Whether the present `impl` only repeats signatures that a trait has fixed.
    fixed_by_trait: bool,
    problems: Vec<Problem>,
}

impl Judge<'_> {
    fn judge(&mut self, signature: &syn::Signature, body: Option<&syn::Block>) {
        let line = signature.ident.span().start().line;
        let name = &signature.ident;
        let mut report = |sentence| self.problems.push(self.file.problem(line, sentence));
        let arguments = signature.inputs.len();
        if arguments > MOST_ARGUMENTS && !self.fixed_by_trait {
            report(format!("`{name}` takes {arguments} arguments; at most {MOST_ARGUMENTS}: pass a struct"));
        }
        let Some(body) = body else { return };
        let lines = body.span().end().line - signature.span().start().line + 1;
        if lines > MOST_LINES {
            report(format!("`{name}` has {lines} lines; at most {MOST_LINES}: name its parts"));
        }
        let mut depth = Depth::default();
        depth.visit_block(body);
        if depth.deepest > MOST_NESTING {
            let deepest = depth.deepest;
            report(format!(
                "`{name}` nests {deepest} levels deep; at most {MOST_NESTING}: return early or name a part"
            ));
        }
    }
}

impl<'ast> Visit<'ast> for Judge<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.judge(&item.sig, Some(&item.block));
        visit::visit_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let outer = std::mem::replace(&mut self.fixed_by_trait, item.trait_.is_some());
        visit::visit_item_impl(self, item);
        self.fixed_by_trait = outer;
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.judge(&item.sig, Some(&item.block));
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.judge(&item.sig, item.default.as_ref());
        visit::visit_trait_item_fn(self, item);
    }
}

/// How deep a body nests.
#[derive(Default)]
struct Depth {
    present: usize,
    deepest: usize,
}

impl Depth {
    fn deeper(&mut self, walk: impl FnOnce(&mut Self)) {
        self.present += 1;
        self.deepest = self.deepest.max(self.present);
        walk(self);
        self.present -= 1;
    }
}

impl<'ast> Visit<'ast> for Depth {
    fn visit_item(&mut self, _: &'ast syn::Item) {}

    fn visit_expr_if(&mut self, expression: &'ast syn::ExprIf) {
        self.visit_expr(&expression.cond);
        self.deeper(|depth| depth.visit_block(&expression.then_branch));
        match expression.else_branch.as_ref().map(|(_, branch)| branch.as_ref()) {
            Some(syn::Expr::Block(block)) => self.deeper(|depth| depth.visit_block(&block.block)),
            Some(other) => self.visit_expr(other),
            None => {}
        }
    }

    fn visit_expr_match(&mut self, expression: &'ast syn::ExprMatch) {
        self.deeper(|depth| visit::visit_expr_match(depth, expression));
    }

    fn visit_expr_for_loop(&mut self, expression: &'ast syn::ExprForLoop) {
        self.deeper(|depth| visit::visit_expr_for_loop(depth, expression));
    }

    fn visit_expr_while(&mut self, expression: &'ast syn::ExprWhile) {
        self.deeper(|depth| visit::visit_expr_while(depth, expression));
    }

    fn visit_expr_loop(&mut self, expression: &'ast syn::ExprLoop) {
        self.deeper(|depth| visit::visit_expr_loop(depth, expression));
    }

    fn visit_local_init(&mut self, init: &'ast syn::LocalInit) {
        self.visit_expr(&init.expr);
        if let Some((_, otherwise)) = &init.diverge {
            self.deeper(|depth| depth.visit_expr(otherwise));
        }
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        match closure.body.as_ref() {
            syn::Expr::Block(_) => self.deeper(|depth| depth.visit_expr(&closure.body)),
            body => self.visit_expr(body),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(text: &str) -> Vec<String> {
        check(&Tree::of(&[("crates/a/src/b.rs", text)])).into_iter().map(|problem| problem.sentence).collect()
    }

    #[test]
    fn seventy_lines_pass_and_seventy_one_do_not() {
        let function = |lines: usize| format!("/// Doc.\n#[inline]\nfn f() {{\n{}}}\n", "    a();\n".repeat(lines - 2));
        assert_eq!(sentences(&function(70)), [""; 0]);
        assert_eq!(sentences(&function(71)), ["`f` has 71 lines; at most 70: name its parts"]);
    }

    #[test]
    fn the_sixth_argument_is_reported_and_self_counts() {
        let sentence = "`f` takes 6 arguments; at most 5: pass a struct";
        assert_eq!(sentences("fn f(a: A, b: A, c: A, d: A, e: A, f: A) {}"), [sentence]);
        assert_eq!(sentences("impl X { fn f(&self, b: A, c: A, d: A, e: A, f: A) {} }"), [sentence]);
        assert_eq!(sentences("fn f(a: A, b: A, c: A, d: A, e: A) {}"), [""; 0]);
    }

    #[test]
    fn a_signature_that_a_trait_fixes_is_judged_at_the_trait_only() {
        assert_eq!(sentences("trait T { fn f(a: A, b: A, c: A, d: A, e: A, f: A); }").len(), 1);
        assert_eq!(sentences("impl T for X { fn f(a: A, b: A, c: A, d: A, e: A, f: A) {} }"), [""; 0]);
    }

    #[test]
    fn the_fifth_level_of_nesting_is_reported() {
        let deep = "fn f() { if a { for b in c { match d { _ => loop { while e {} } } } } }";
        assert_eq!(sentences(deep), ["`f` nests 5 levels deep; at most 4: return early or name a part"]);
        assert_eq!(sentences("fn f() { if a { for b in c { match d { _ => loop {} } } } }"), [""; 0]);
        let closure = "fn f() { a(|| { b(|| { c(|| { let Some(d) = e else { if g {} }; }) }) }) }";
        assert_eq!(sentences(closure), ["`f` nests 5 levels deep; at most 4: return early or name a part"]);
    }

    #[test]
    fn a_chain_of_else_if_and_braces_in_text_do_not_nest() {
        let chain = "fn f() { if a {} else if b {} else if c {} else if d {} else if e {} else { if g {} } }";
        assert_eq!(sentences(chain), [""; 0]);
        let text = r###"fn f() { let a = "{{{{{{"; let b = '{'; let c = r#"{"{{{{{"#; /* {{{{{ */ }"###;
        assert_eq!(sentences(text), [""; 0]);
    }
}
