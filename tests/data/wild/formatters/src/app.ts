const x = 1;
debugger;
