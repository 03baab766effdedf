fn main() {
    let mut args = std::env::args().skip(1);
    let (name, to) = (args.next().unwrap(), args.next().unwrap());
    plimsoll_lab::write_folder(&plimsoll_lab::base::base(&name).unwrap(), to.as_ref()).unwrap();
}
