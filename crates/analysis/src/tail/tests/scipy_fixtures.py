"""Writes scipy.json, with which the fits are held against SciPy: python3 scipy_fixtures.py > scipy.json"""
import sys
import json

import numpy as np
from scipy import stats, optimize, special
from scipy import __version__ as v
out={"scipy":v,"gev":[],"gpd":[]}
def pwm(x):
    x=np.sort(x); n=len(x)
    # From the definition: the mean of order statistics over all subsets, by binomial coefficients.
    b=[sum(special.comb(i,r,exact=True)*x[i] for i in range(n))/special.comb(n-1,r,exact=True)/n for r in range(3)]
    return b[0], 2*b[1]-b[0], (6*b[2]-6*b[1]+b[0])/(2*b[1]-b[0])
def gev_l(l1,l2,t3):
    f=lambda k: 2*(1-3.0**-k)/(1-2.0**-k)-3-t3
    k=optimize.brentq(f,-.97,5,xtol=1e-14) if abs(2*np.log(3)/np.log(2)-3-t3)>1e-9 else 0
    g=special.gamma(1+k); s=l2*k/((1-2.0**-k)*g); return l1-s*(1-g)/k,s,-k
for seed,(xi,n) in enumerate([(-.3,60),(0,120),(.25,200)]):
    x=np.round(stats.genextreme.rvs(-xi,loc=40000,scale=3000,size=n,random_state=seed),3)
    c,loc,sc=stats.genextreme.fit(x,-xi,loc=40000,scale=3000)
    nll=lambda p: -np.sum(stats.genextreme.logpdf(x,p[2],p[0],np.exp(p[1])))
    r=optimize.minimize(nll,[loc,np.log(sc),c],method="Nelder-Mead",options=dict(xatol=1e-9,fatol=1e-11,maxiter=20000,maxfev=20000))
    l=pwm(x); m=gev_l(*l)
    out["gev"].append(dict(values=list(map(float,x)),l_moments=l,by_l_moments=m,
      scipy_fit=dict(c=c,loc=loc,scale=sc),likelihood=float(-nll([loc,np.log(sc),c])),polished=dict(c=r.x[2],loc=r.x[0],scale=float(np.exp(r.x[1]))),
      quantiles=[[q,float(stats.genextreme.ppf(q,-m[2],m[0],m[1]))] for q in (.05,.5,.999)]))
for seed,(xi,n) in enumerate([(-.3,150),(0,200),(.25,300)]):
    x=np.round(stats.genpareto.rvs(xi,scale=3000,size=n,random_state=10+seed),3); x=np.maximum(x,.001)
    c,_,sc=stats.genpareto.fit(x,xi,floc=0,scale=3000)
    l=pwm(x); k=2-l[0]/l[1]
    out["gpd"].append(dict(values=list(map(float,x)),l_moments=l,by_l_moments=[l[0]*(1-k),k],scipy_fit=dict(c=c,scale=sc)))
out["kuiper"]=[[x,float(sum(2*(4*j*j*x*x-1)*np.exp(-2*j*j*x*x) for j in range(1,200)))] for x in (1.0,1.62,1.747,2.001)]
out["gamma"]=[[x,float(special.gamma(x))] for x in (.05,.3,.9,1.4,3.7,9.2)]
json.dump(out, sys.stdout, indent=1)
print()
