package toolbox

const nonblocking = 0
